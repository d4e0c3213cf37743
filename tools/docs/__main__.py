"""`python -m stepwell.tools.docs`: regenerates the generated pages of ./docs."""

from pathlib import Path

from .extending import extending_page
from .operators import operators_page
from .pages import run_page, run_section
from .passes import passes_page
from .primitives import primitives_page
from .tvm_names import coverage_page


def main() -> None:
    docs = Path("docs")
    (docs / "primitives.md").write_text(primitives_page())
    (docs / "operators.md").write_text(operators_page())
    (docs / "passes.md").write_text(passes_page())
    (docs / "tvm.md").write_text(coverage_page((docs / "tvm.md").read_text()))
    for page in (docs / f"{name}.md" for name in ("schedules", "te-schedules", "relay", "relax", "workbench")):
        page.write_text(run_page(page.read_text()))
    errors = docs / "errors.md"
    errors.write_text(run_section(errors.read_text(), "Tools"))
    for name, packages in (("extending", "examples/extending"), ("libraries", "examples/external_library")):
        page = docs / f"{name}.md"
        page.write_text(extending_page(page.read_text(), Path(packages)))


if __name__ == "__main__":
    main()
