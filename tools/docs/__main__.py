"""`python -m stepwell.tools.docs`: make the generated pages of ./docs anew."""

from pathlib import Path

from .pages import run_page
from .primitives import primitives_page


def main() -> None:
    docs = Path("docs")
    (docs / "primitives.md").write_text(primitives_page())
    schedules = docs / "schedules.md"
    schedules.write_text(run_page(schedules.read_text()))


if __name__ == "__main__":
    main()
