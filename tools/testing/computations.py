"""Random programs for schedules: blocks in loop nests, with all relevant kinds of dependences between them.

`computation_stages` holds the computations of the blocks, `nests` their loop nests. Most programs compute on integers,
so that results are exact in any order.
"""

from __future__ import annotations

from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from .choices import Choices, flag, pick
from .computation_stages import STAGES, BufferText, StageWriter, shape_text
from .nests import Extent, indent

_DTYPES = ("int32", "int32", "int32", "float32", "int64", "int8", "float16")


def random_computation(choices: Choices) -> Module:
    """A module with a function `main`, and occasionally a second function, whose blocks compute buffers from buffers.

    Shrinks to one pointwise block.
    """
    return parse_tvmscript(random_computation_text(choices), "computation.py")


def random_computation_text(choices: Choices) -> str:
    """The program of `random_computation` as TVMScript."""
    names = ["main", "other"] if flag(choices, 12) else ["main"]
    lines = ["@I.ir_module", "class Module:"]
    for name in names:
        lines += indent(_function(choices, name))
    return "\n".join([*lines, ""])


def _function(choices: Choices, name: str) -> list[str]:
    dtype = pick(choices, _DTYPES)
    index = "int64" if flag(choices, 6) else "int32"
    is_symbolic = flag(choices, 4)
    func = StageWriter(choices, dtype, index, is_symbolic=is_symbolic, plain=not flag(choices))
    rank = pick(choices, (1, 2, 2, 3))
    shape: list[Extent] = [choices.integer(2, 6 if rank < 3 else 3) for _ in range(rank)]
    if is_symbolic:
        shape[choices.integer(0, rank - 1)] = _symbolic_extent(func)
    first = BufferText("A", tuple(shape))
    func.parameters.append(first)
    func.known.append(first)
    count = choices.integer(1, 4)
    for n in range(count):
        pick(choices, STAGES)(func, f"B{n}", n == count - 1)
    return _function_lines(func, name)


def _symbolic_extent(func: StageWriter) -> str:
    """`n`, or a multiple of it: of a scalar parameter, so that the multiple may wrap, or of an extent."""
    if not flag(func.choices, 3):
        return "n"
    if flag(func.choices):
        func.has_scalar_size = True
    else:
        func.parameters.append(BufferText("Size", ("n",)))
    return f"n * {func.choices.integer(2, 4)}"


def _function_lines(func: StageWriter, name: str) -> list[str]:
    parameters, body = [], []
    for buffer in func.parameters:
        if any(isinstance(extent, str) for extent in buffer.shape):
            parameters.append(f"{buffer.name.lower()}: T.handle")
            body.append(f"{buffer.name} = T.match_buffer({buffer.name.lower()}, {_shape_and_dtype(func, buffer)})")
        else:
            parameters.append(f"{buffer.name}: T.Buffer({_shape_and_dtype(func, buffer)})")
    if func.has_indices:
        parameters.append('index: T.Buffer((8,), "int32")')
    if func.has_scalar_size:
        parameters.append(f"n: T.{func.index}")
    elif func.is_symbolic:
        body.insert(0, f"n = T.{func.index}()")
    body += [f"{buffer.name} = T.alloc_buffer({_shape_and_dtype(func, buffer)})" for buffer in func.allocated]
    return ["@T.prim_func", f"def {name}({', '.join(parameters)}):", *indent([*body, *func.lines])]


def _shape_and_dtype(func: StageWriter, buffer: BufferText) -> str:
    return f'{shape_text(func, buffer.shape)}, "{buffer.dtype or func.dtype}"'
