"""The outcomes of cases by mode, kept in a file, so that an interrupted run continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self, TextIO

from .cases import OnnxCase
from .running import CaseOutcome


class Outcomes:
    """Outcomes by mode and case. A context: the file is closed at its end."""

    def __init__(self, path: Path | None):
        """path: of a file with an outcome in each line as JSON, which is read and extended; None for no file."""
        self._outcomes: dict[tuple[str, str], CaseOutcome] = {}
        self._file: TextIO | None = None
        if path is not None:
            for line in path.read_text().splitlines() if path.exists() else ():
                mode, name, result, detail = json.loads(line)
                self._outcomes[mode, name] = CaseOutcome(result, detail)
            self._file = path.open("a")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __getitem__(self, key: tuple[str, OnnxCase]) -> CaseOutcome:
        return self._outcomes[key[0], key[1].name]

    def get(self, mode: str, case: OnnxCase) -> CaseOutcome | None:
        """The outcome of a case; None if it has not run."""
        return self._outcomes.get((mode, case.name))

    def add(self, mode: str, case: OnnxCase, outcome: CaseOutcome) -> None:
        """Adds an outcome, to the file as well."""
        if self.get(mode, case) == outcome:
            return
        self._outcomes[mode, case.name] = outcome
        if self._file is not None:
            self._file.write(json.dumps([mode, case.name, outcome.result, outcome.detail]) + "\n")
            self._file.flush()
