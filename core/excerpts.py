"""Excerpts: operations as text in custom syntax, as in the listing of their program."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer


class _Printed(Exception):
    """Ends the print of a program after the operation of interest."""


class _ExcerptPrinter(Printer):
    """A printer that keeps the text of one operation, `text`, and ends with it."""

    def __init__(self, op: Operation) -> None:
        self._output = StringIO()
        super().__init__(stream=self._output)
        self._op = op
        self.text = ""

    def print_op(self, op: Operation) -> None:
        start = self._output.tell()
        super().print_op(op)
        if op is self._op:
            self.text = self._output.getvalue()[start:]
            raise _Printed


def excerpt(op: Operation) -> str:
    """The first line of an operation in custom syntax, with the names that its program gives to values. Operations
    that break the constraints of their syntax have the generic form."""
    root = op.get_toplevel_object()
    for program in (root, op):
        printer = _ExcerptPrinter(op)
        try:
            if isinstance(program, Operation):
                printer.print_op(program)
        except _Printed:
            return printer.text.partition("\n")[0]
        except Exception:  # printers rely on the constraints that the operation may break
            continue
    printer = _ExcerptPrinter(op)
    printer.print_generic_format = True
    try:
        printer.print_op(op)
    except _Printed:
        return printer.text.partition("\n")[0]
    except Exception:
        pass
    return op.name
