"""The programs of docs/macros.md parse."""

import re
from pathlib import Path

from stepwell.frontends.tvmscript import context, parse_tvmscript, pytime
from stepwell.frontends.tvmscript.budget import LIMITS

PAGE = (Path(__file__).parents[2] / "docs/macros.md").read_text()


def test_the_programs_on_the_page_are_read() -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(programs) == 1
    text = parse_tvmscript(programs[0]).script()
    assert 'with T.block("row_sum"):' in text
    assert "B[vi] = B[vi] + A[vi, vk]" in text


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    page = PAGE.replace("\n", " ")
    for limit in LIMITS.values():
        assert f"| {limit:,}" in page
    assert f"at most {context.MAX_DEPTH} deep" in page
    assert f"at most {context.MAX_NEST}." in page
    assert f"at most {pytime.MAX_BITS:,} bits" in page
    assert f"at most {pytime.MAX_TEXT:,} characters" in page
