"""`python -m stepwell.tools.docs`: make the generated pages of ./docs anew."""

from pathlib import Path

from .extending import extending_page
from .pages import run_page
from .primitives import primitives_page


def main() -> None:
    docs = Path("docs")
    (docs / "primitives.md").write_text(primitives_page())
    schedules = docs / "schedules.md"
    schedules.write_text(run_page(schedules.read_text()))
    extending = docs / "extending.md"
    extending.write_text(extending_page(extending.read_text(), Path("examples/extending")))


if __name__ == "__main__":
    main()
