"""TVMScript as a front end of the command line tools of xDSL."""

from __future__ import annotations

from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.tools.command_line_tool import CommandLineTool

TVMSCRIPT = ("py", "tvmscript")


class ReadsTvmscript(CommandLineTool):
    """A tool that accepts files of both languages, by file extension or by `-f`."""

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        for extension in TVMSCRIPT:
            self.available_frontends[extension] = self._parse_tvmscript

    def _parse_tvmscript(self, chunk: IO[bytes], start_offset: int = 0) -> ModuleOp:
        # lazy: the front end is slow to import, and MLIR does not need it
        from ..frontends.tvmscript import parse_tvmscript

        text = chunk.read().decode("utf-8", errors="replace")
        return parse_tvmscript(text, filename=self.get_input_name(), first_line=start_offset + 1).op

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        if file_extension in TVMSCRIPT:
            return self._parse_tvmscript(chunk, start_offset)
        return super().parse_chunk(chunk, file_extension, start_offset)

    def check_frontend(self) -> None:
        """OSError unless a front end reads the input."""
        extension = self.args.frontend or (self.args.input_file or ".mlir").rpartition(".")[2]
        if extension not in self.available_frontends:
            known = ", ".join(self.available_frontends)
            raise OSError(f"{self.get_input_name()}: no front end for {extension!r} (there are {known}; see -f)")
