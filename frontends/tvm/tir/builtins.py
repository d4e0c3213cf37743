"""The builtins of targets as functions: `tvm.tir.tvm_fill_fragment`, `tvm.tir.ptx_mma`, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....expressions.buffers import ExternCall
from ....expressions.errors import TeError
from ....expressions.expr import as_expr
from ....expressions.extern import call_builtin
from ....expressions.intrinsic_names import IntrinsicName

_FRAGMENT = ("fragment", "m", "n", "k", "index", "buffer_ptr", "stride", "layout")
_OPERANDS = ("fragment_d", "index_d", "fragment_a", "index_a", "fragment_b", "index_b", "fragment_c", "index_c")
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "tvm_load_matrix_sync": _FRAGMENT,
    "tvm_store_matrix_sync": _FRAGMENT,
    "tvm_mma_sync": _OPERANDS,
    "tvm_fill_fragment": ("fragment", "m", "n", "k", "index", "value"),
    "tvm_storage_sync": ("storage_scope",),
    "tvm_throw_last_error": (),
    "tvm_struct_set": ("arr", "index", "field", "value"),
    "ptx_mma": (
        "dtype", "shape", "A_layout", "B_layout", "A_dtype", "B_dtype", "C_dtype", "multiplicand_a", "a_index",
        "multiplicand_b", "b_index", "accumulator", "c_index", "saturate", "operator",
    ),
    "ptx_ldmatrix": ("dtype", "trans", "num", "type", "local_ptr", "local_offset", "smem_ptr", "smem_offset"),
    "mma_store": ("dtype", "m", "n", "dst_ptr", "src_ptr", "src_offset", "dst_stride"),
    "mma_fill": ("dtype", "local_size", "local_ptr", "offset"),
    "TVMBackendAllocWorkspace": ("device_type", "device_id", "nbytes", "dtype_code_hint", "dtype_bits_hint"),
    "TVMBackendFreeWorkspace": ("device_type", "device_id", "ptr"),
}  # fmt: skip
"""The parameters of builtins that are called for their effect (python/tvm/tir/op.py of TVM 0.16)."""
_OPTIONAL: Mapping[str, Any] = {"operator": None}


class BuiltinCall(ExternCall):
    """A call of a builtin, which has the name of the builtin as its `op`."""

    @property
    def op(self) -> IntrinsicName:
        """The builtin."""
        return IntrinsicName(self.name)


def builtin_call(name: str, *args: Any) -> BuiltinCall:
    """The call of a builtin for its effect. TeError for arguments other than expressions, texts and buffers."""
    call = call_builtin(name, *args)
    return BuiltinCall(call.name, call.args, call.dtype, call.is_intrinsic)


def _function(name: str, parameters: tuple[str, ...]) -> Callable[..., BuiltinCall]:
    def function(*args: Any, **named: Any) -> BuiltinCall:
        values = dict(zip(parameters, args, strict=False)) | named
        missing = [each for each in parameters if each not in values and each not in _OPTIONAL]
        if (
            missing
            or len(args) > len(parameters)
            or len(values) != len(args) + len(named)
            or values.keys() - parameters
        ):
            raise TeError(f"{name} of {[*args, *named]}, expected {', '.join(parameters) or 'no arguments'}")
        given = [values[each] for each in parameters if each != "dtype" and values.get(each) is not None]
        return builtin_call(name, *given)

    function.__name__ = name
    function.__doc__ = f"A call of `{name}` for its effect. The parameters are {', '.join(parameters) or 'none'}."
    return function


def tvm_thread_allreduce(*freduce_args: Any) -> BuiltinCall:
    """A reduction over threads: the number of values, the values, a condition, the results, and the threads."""
    return builtin_call("tvm_thread_allreduce", *freduce_args)


def assume(cond: Any = None) -> BuiltinCall:
    """A condition that holds at this statement."""
    return builtin_call("assume", as_expr(cond) != 0 if as_expr(cond).dtype != "bool" else cond)


BUILTINS: Mapping[str, Callable[..., BuiltinCall]] = {
    "assume": assume,
    "tvm_thread_allreduce": tvm_thread_allreduce,
    **{name: _function(name, parameters) for name, parameters in _PARAMETERS.items()},
}
"""The functions by name."""
