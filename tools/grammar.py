"""`python -m stepwell.tools.grammar`: writes the tables of the parser of TVMScript, after a change of its grammar."""

from pathlib import Path

from ..frontends import tvmscript
from ..frontends.tvmscript.reader import tables_of_grammar
from ..frontends.tvmscript.tables import FILE


def main() -> None:
    (Path(tvmscript.__file__).parent / FILE).write_text(tables_of_grammar(), encoding="utf-8")


if __name__ == "__main__":
    main()
