"""Functions of tensor expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp

from ...dialects.attributes import TIR_NOALIAS
from ...dialects.tir.annotations import annotation_value
from ...expressions.errors import TeError
from ...expressions.expr import Var
from ...expressions.index_dtype import with_index_dtype
from ...expressions.tensor import Tensor
from ...expressions.write import TeFuncEmitter
from ...module import Module
from ...transforms.pipelines import run_pipeline
from ...transforms.te.to_tir import ConvertTeToTirPass


def create_te_func(
    args: Iterable[Tensor | Var],
    index_dtype_override: str | None = None,
    *,
    name: str = "main",
    temporaries: Sequence[Tensor] = (),
) -> Module:
    """A module with one `te.func` of the given tensors. args: its parameters: placeholders, results and variables, in
    order. index_dtype_override: the data type of all sizes and axes, int32 or int64; None to use the data types of the
    shapes. temporaries: tensors that the function computes in memory of its own.

    TeError if a result is computed from a tensor that is not an argument, or for a duplicate argument.
    """
    params = _check_args(args)
    if index_dtype_override is not None:
        changed = with_index_dtype([*params, *temporaries], index_dtype_override)
        params, temporaries = changed[: len(params)], [t for t in changed[len(params) :] if isinstance(t, Tensor)]
    func = TeFuncEmitter(name, params, {TIR_NOALIAS: annotation_value(True)}, temporaries).write()
    return Module(ModuleOp([func]))


def create_prim_func(
    args: Iterable[Tensor | Var],
    index_dtype_override: str | None = None,
    *,
    name: str = "main",
    temporaries: Sequence[Tensor] = (),
) -> Module:
    """A module with one function on the `tir` landing: a block for each `te.compute`.

    args: its parameters: placeholders, results and variables, in order. temporaries and errors: as of `create_te_func`.
    """
    module = create_te_func(args, index_dtype_override, name=name, temporaries=temporaries)
    return run_pipeline(module, [ConvertTeToTirPass()])


def _check_args(args: Iterable[Tensor | Var]) -> Sequence[Tensor | Var]:
    params = list(args)
    for n, param in enumerate(params):
        if not isinstance(param, Tensor | Var):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"argument {n}: {param!r}, expected a tensor or a variable")
        if any(param is other or (isinstance(param, Tensor) and param == other) for other in params[:n]):
            raise TeError(f"argument {n}: {param.name} is given twice")
    return params
