"""The interactive application of xDSL for `stepwell-gui`. Importing this module requires the extra `gui`."""

from __future__ import annotations

import inspect
from pathlib import Path

from textual import on
from textual.widgets import Button
from xdsl.interactive.app import InputApp

from ..core import xdsl_compat as xdsl_compat  # arith on vectors, for upstream modules too
from ..core.errors import StepwellError


class Explorer(InputApp):
    """The application: loads files of both languages, and shows queries for `stepwell-opt`."""

    CSS_PATH = Path(inspect.getfile(InputApp)).with_name("app.tcss")
    TITLE = "stepwell-gui"

    def get_query_string(self) -> str:
        return super().get_query_string().replace("xdsl-opt", "stepwell-opt", 1)

    @on(Button.Pressed, "#load_file_button")
    def load_either(self, event: Button.Pressed) -> None:
        """Asks for a file, instead of the handler of the application, which treats all files as MLIR."""
        event.prevent_default()
        self.push_screen("load_file", self.show_file)

    def show_file(self, name: str | None) -> None:
        """Shows the program in a file, or its error, and clears the passes; no effect without a name."""
        # lazy: the tool imports this module
        from .stepwell_gui import mlir_text

        if name is None:
            return
        self.pass_pipeline = ()
        try:
            text = mlir_text(Path(name))
        except (OSError, UnicodeDecodeError, StepwellError) as error:
            text = "".join(f"// {line}\n" for line in str(error).splitlines())
        else:
            self.current_file_path = name
        self.input_text_area.load_text(text)
