"""Pages with executable code, each followed by its output."""

import pytest

from stepwell.tools.docs import run_page


def test_the_output_of_code_replaces_the_output_after_it() -> None:
    page = "Six:\n\n```python\nx = 6\nprint(x)\n```\n\n```text\n5\n```\n\nand more.\n"
    assert run_page(page) == page.replace("\n5\n", "\n6\n")


def test_blocks_share_a_scope_and_those_that_print_nothing_stand_alone() -> None:
    page = "```python\nx = 6\n```\n\n```python\nprint(x + 1)\n```\n\n```py\n7\n```\n"
    assert run_page(page) == page


@pytest.mark.parametrize("page", ["```python\nprint(1)\n```\n", "```python\nx = 1\n```\n\n```text\n1\n```\n"])
def test_output_without_a_block_and_a_block_without_output_are_mistakes(page: str) -> None:
    with pytest.raises(ValueError, match="expected a block with what is printed"):
        run_page(page)


def test_a_command_reads_files_that_the_page_wrote() -> None:
    page = (
        "```python\nfrom pathlib import Path\nPath('a.mlir').write_text('%0 = arith.constant 1 : i32')\n```\n\n"
        "```console\n$ stepwell-opt a.mlir\n```\n"
    )
    assert "$ stepwell-opt a.mlir\nbuiltin.module {\n  %0 = arith.constant 1 : i32\n}" in run_page(page)


def test_a_command_that_fails_shows_its_message() -> None:
    page = "```console\n$ stepwell-opt -p none\n```\n"
    assert run_page(page) == "```console\n$ stepwell-opt -p none\nerror: pipeline 'none': no pass 'none'\n```\n"
