"""Assembly formats are read when they are used."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.utils.exceptions import PyRDLOpDefinitionError

from stepwell.core import lazy_formats as lazy_formats
from stepwell.dialects import mlir_context


def test_a_format_is_read_once_when_an_operation_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    read = FormatProgram.from_str
    monkeypatch.setattr(FormatProgram, "from_str", lambda text, of: (texts.append(text), read(text, of))[1])

    @irdl_op_definition
    class Printed(IRDLOperation):
        name = "test.printed"
        value = operand_def(i32)
        assembly_format = "$value attr-dict"

    assert not texts
    op = Printed(operands=[test.TestOp(result_types=[i32]).results[0]])
    assert str(op) == str(op) == "test.printed %0"
    assert texts == ["$value attr-dict"]


def test_a_wrong_format_is_an_error_of_its_use() -> None:
    @irdl_op_definition
    class Wrong(IRDLOperation):
        name = "test.wrong"
        assembly_format = "$other attr-dict"

    with pytest.raises(PyRDLOpDefinitionError, match=r"format of test\.wrong"):
        str(Wrong())


def test_the_formats_of_all_dialects_are_right() -> None:
    for dialect in list(mlir_context().loaded_dialects):
        for op in dialect.operations:
            assert issubclass(op, IRDLOperation)
            definition = op.get_irdl_definition()
            if definition.assembly_format is not None:
                FormatProgram.from_str(definition.assembly_format, definition)
