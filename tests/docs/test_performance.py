"""The remarks on docs/performance.md are those of its program, and its table names every pass with remarks."""

import re
from pathlib import Path

from stepwell import build, parse_tvmscript
from stepwell.core.remarks import Remark

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs/performance.md").read_text().split("\n## Remarks\n")[1].split("\n## ")[0]


def test_the_program_has_the_remarks_on_the_page() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", SECTION, re.DOTALL)
    remarks: list[Remark] = []
    build(parse_tvmscript(program, filename="matmul.py"), remarks=remarks.append)
    assert "".join(f"{remark}\n" for remark in remarks) == expected


def test_the_table_names_every_pass_with_remarks() -> None:
    sources = [file.read_text() for folder in ("transforms", "backends") for file in (ROOT / folder).rglob("*.py")]
    names = {name for source in sources for name in re.findall(r'PassRemarks\("(.*?)"\)', source)}
    rows = [line for line in SECTION.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(.*?)`", row.split("|")[1])} == names
