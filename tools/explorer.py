"""xDSL's interactive application as `stepwell-gui` runs it. Importing this module needs the extra `gui`."""

from __future__ import annotations

import inspect
from pathlib import Path

from textual import on
from textual.widgets import Button
from xdsl.interactive.app import InputApp

from ..core import xdsl_compat as xdsl_compat  # arith on vectors, for upstream modules too
from ..core.errors import StepwellError


class Explorer(InputApp):
    """The application: files of both languages can be loaded, and a query is one of `stepwell-opt`."""

    CSS_PATH = Path(inspect.getfile(InputApp)).with_name("app.tcss")
    TITLE = "stepwell-gui"

    def get_query_string(self) -> str:
        return super().get_query_string().replace("xdsl-opt", "stepwell-opt", 1)

    @on(Button.Pressed, "#load_file_button")
    def load_either(self, event: Button.Pressed) -> None:
        """Ask for a file in the place of the application's own handler, which takes all files for MLIR."""
        event.prevent_default()
        self.push_screen("load_file", self.show_file)

    def show_file(self, name: str | None) -> None:
        """Show the program in a file, or what is wrong with it, and forget the passes; nothing without a name."""
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
