"""Programs that apply a function of `math` to all elements of arrays."""

from __future__ import annotations

from ...frontends.mlir import parse_mlir
from ...module import Module

_TEXT = """
func.func @main({parameters}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  %n = memref.dim %m0, %c0 : memref<?x{type}>
  scf.for %i = %c0 to %n step %step {{
    {loads}
    %r = math.{name} {operands} : {vector}
    vector.store %r, %out[%i] : memref<?x{type}>, {vector}
  }}
  func.return
}}"""


def elementwise_program(name: str, type: str, lanes: int, operands: int = 1, constant: float | None = None) -> Module:
    """A function `main` that stores `math.<name>` of the elements of its first arrays into the last array.

    type: of the elements.  lanes: of a vector; the length of the arrays is a multiple.  operands: the number of
    operands of the function that are arrays.  constant: a number that is a further operand.
    """
    vector, numbers = f"vector<{lanes}x{type}>", range(operands)
    loads = [f"%x{n} = vector.load %m{n}[%i] : memref<?x{type}>, {vector}" for n in numbers]
    if constant is not None:
        loads.append(f"%x{operands} = arith.constant dense<{constant!r}> : {vector}")
    return parse_mlir(
        _TEXT.format(
            name=name,
            type=type,
            lanes=lanes,
            vector=vector,
            parameters=", ".join(f"%{name}: memref<?x{type}>" for name in (*(f"m{n}" for n in numbers), "out")),
            loads="\n".join(loads),
            operands=", ".join(f"%x{n}" for n in range(len(loads))),
        )
    )
