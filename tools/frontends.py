"""The front ends of the command line tools of xDSL: TVMScript, and MLIR with locations."""

from __future__ import annotations

import sys
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.tools.command_line_tool import CommandLineTool
from xdsl.utils.exceptions import VerifyException

from ..core.errors import ParseError, VerifyError
from ..core.plugins import installed_universe
from ..frontends.mlir import parse_module

MLIR = "mlir"
TVMSCRIPT = ("py", "tvmscript")
STANDARD_INPUT = "-"


class ReadsTvmscript(CommandLineTool):
    """A tool that accepts files of both languages, by file extension or by `-f`, with the dialects of all installed
    packages; the file `-` is the standard input."""

    def register_all_dialects(self) -> None:
        for name, load in installed_universe().all_dialects.items():
            self.ctx.register_dialect(name, load)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends[MLIR] = self._parse_mlir
        for extension in TVMSCRIPT:
            self.available_frontends[extension] = self._parse_tvmscript

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file == STANDARD_INPUT:
            return sys.stdin.buffer, MLIR
        return super().get_input_stream()

    def get_input_name(self) -> str:
        return "stdin" if self.args.input_file in (None, STANDARD_INPUT) else self.args.input_file

    def _parse_mlir(self, chunk: IO[bytes], start_offset: int = 0) -> ModuleOp:
        text = chunk.read().decode("utf-8", errors="replace")
        is_implicit = not self.args.no_implicit_module
        try:
            return parse_module(self.ctx, text, self.get_input_name(), start_offset + 1, is_implicit)
        except ParseError as error:
            if isinstance(error.__cause__, VerifyException):  # a diagnostic for `--verify-diagnostics`
                raise VerifyError(str(error)) from error.__cause__
            raise

    def _parse_tvmscript(self, chunk: IO[bytes], start_offset: int = 0) -> ModuleOp:
        # lazy: the front end is slow to import, and MLIR does not need it
        from ..frontends.tvmscript import parse_tvmscript

        text = chunk.read().decode("utf-8", errors="replace")
        return parse_tvmscript(text, filename=self.get_input_name(), first_line=start_offset + 1).op

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        if file_extension in TVMSCRIPT:
            return self._parse_tvmscript(chunk, start_offset)
        if file_extension == MLIR:
            return self._parse_mlir(chunk, start_offset)
        return super().parse_chunk(chunk, file_extension, start_offset)

    def check_frontend(self) -> None:
        """OSError unless a front end reads the input."""
        is_file = self.args.input_file not in (None, STANDARD_INPUT)
        extension = self.args.frontend or (self.args.input_file.rpartition(".")[2] if is_file else MLIR)
        if extension not in self.available_frontends:
            known = ", ".join(self.available_frontends)
            raise OSError(f"{self.get_input_name()}: no front end for {extension!r} (there are {known}; see -f)")
