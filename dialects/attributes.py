"""Attributes by which landings and back ends pass facts on to each other: the names of discardable attributes."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute

# Modules

MODULE_ATTRS = "module.attrs"
"""On a module: the attributes that its author states, as `I.module_attrs`."""

# Functions of graphs and of `tir`

PARAM_VALUES = "params"
"""The key in `func_attrs` of a function of `relax`: the names of the arrays that are values of its parameters."""
GRAPH_KERNEL = "relay.kernel"
"""On a function that a graph calls as a kernel: it is not inlined into its callers."""
WORKSPACE_OFFSETS = "offsets"
"""On a call in a graph or a program: the offset of each result in the workspace in bytes; -1 for a result without a
plan."""
DYNAMIC_OFFSETS = "dynamic_offsets"
"""On a call in a graph: for each result, the number of its dynamic workspace and its offset there, in products of the
sizes of the workspace; `[]` for a result without such a plan."""
VIEW = "view"
"""On a call in a graph whose result is its operand in another shape, at the same offset of the workspace: the kernel is
not called."""
WORKSPACE = "relay.workspace"
"""On a function of a graph or a program: the size of its workspace in bytes."""
UNSHARED_WORKSPACE = "relay.unshared_workspace"
"""On such a function: the size in bytes that its workspace has if no two tensors share memory."""
DYNAMIC_WORKSPACES = "relay.dynamic_workspaces"
"""On a function of a graph: for each dynamic workspace the number and the sizes whose product is its size in bytes."""
SHARED_INPUTS = "relay.shared_inputs"
"""On a graph function: its inputs may share memory with each other, because the caller does not copy them."""
HOST_FUNCTION = "tir.is_host_func"
"""On a `tir` function without kernels, as in TVM: the C functions that it calls get memory of a device."""
TIR_NOALIAS = "tir.noalias"
"""On a `tir` function, as in TVM: its buffers do not overlap."""

DISJOINT_VERSION = "stepwell.disjoint_version"
"""On a `tir` function: the function to call instead where no buffer overlaps a buffer that is written. Both compute the
same then."""
TIR_IS_SCHEDULED = "tir.is_scheduled"
"""On a `tir` function, as in TVM: it gets no default schedule."""
SCHEDULED = "stepwell.scheduled"
"""On a `tir` function: a schedule has changed it."""

# Tensors and their blocks

INLINE_RULE = "meta_schedule.inline_rule"
"""On a tensor or block, as in TVM: `"disable"` for a tensor that is not inlined into its readers."""
SCHEDULE_RULE = "schedule_rule"
"""On a tensor or block, as in TVM: the name of the default schedule of its function."""

# Functions of the upstream landing

CUDA_EXPRESSION = "stepwell.cuda_expression"
"""On a call of a function, and on its declaration: the expression of CUDA C++ that computes its result, `{0}` is the
first argument."""

MATRIX_OPERATION = "stepwell.matrix_operation"
"""On a declaration: the operation of a warp on fragments that it is: the name of the builtin of `tir`, and the layout
of a matrix in memory."""
FRAGMENT_TYPE = "stepwell.fragment"
"""On an allocation of fragments: the shape of the product, and the layout of a factor."""

PARAMETER_NAME = "stepwell.name"
"""On a parameter: its name in the source."""
PARAMETER_DTYPE = "stepwell.dtype"
"""On a parameter or result: its data type, with the sign that upstream integer types lack."""
NOALIAS = "stepwell.noalias"
"""On a function: the equivalent of `tir.noalias`. On a parameter: it shares no memory with another parameter."""
PACKED = "stepwell.packed"
"""On a declaration: the name under which the Python function is registered that it calls."""
VARIADIC_FUNCTION = "stepwell.variadic"
"""On a declaration: the name of the C function with a variable number of arguments that it calls."""
PARALLEL = "stepwell.parallel"
"""On a call: it may be executed as calls at the same time, with parts of the range from the first operand to below the
second."""
PREFETCH = "stepwell.prefetch"
"""On a load: the distance in bytes from its address to the cache line that it requests for a later load, followed by
the bytes that an increment of the variable of each loop around it adds to the distance, from the innermost loop on; 0
bytes for those that are not stated. A load whose result has no use is a request alone."""
PREFETCH_LEVEL = "stepwell.prefetch_level"
"""On a load with `stepwell.prefetch`: the level of the cache that the line is requested into; without, the first."""
PREFETCH_PANEL = "stepwell.prefetch_panel"
"""On a load: the equivalent of `stepwell.prefetch` for a line that is requested into the second cache."""
ELSEWHERE = "stepwell.elsewhere"
"""On a declaration: the function is in another part of the program, which is lowered apart."""
READ_ONLY = "stepwell.read_only"
"""On a parameter of such a declaration: a buffer that the function does not write. On a pointer: nothing is written
through it."""
GRAIN = "stepwell.grain"
"""On a parallel loop or call: the least number of iterations that a thread executes at a time; 1 by default."""
LEAST_PER_THREAD = "stepwell.least_per_thread"
"""On a parallel loop or call: the number of iterations for each thread below which its caller executes them all; 0 by
default. Loops inside of the iterations may be parallel then."""
NOINLINE = "stepwell.noinline"
"""On a function: the equivalent of `relay.kernel`."""
ON_DEVICE = "stepwell.on_device"
"""On a function: the equivalent of `tir.is_host_func`."""
ILLEGAL_SCHEDULE = "stepwell.illegal_schedule"
"""On a function: the reason why its schedule would change its results. The function can be read, not compiled."""
UNLIKELY = "stepwell.unlikely"
"""On a branch: its condition is nearly always false."""
REPORT_ASSERTION = "stepwell.failed_assertion"
REPORT_UNDEFINED = "stepwell.undefined_behavior"
"""The packed functions of the runtime that report a failed assertion with its values."""
PRINT = "stepwell.print"
"""The packed function of the runtime that prints a message with its values."""
ABOUT_ARGUMENT = "stepwell.argument"
"""On an assertion that fails because of an argument that the caller has passed."""

# Statements and allocations of kernels

BLOCK_NAME = "stepwell.block"
"""On a statement: the name of the block that it was in."""
ALIGNED_STRIDES = "stepwell.aligned"
"""On an allocation: the strides to align, each with its factor and offset (`tir-pad-buffers`)."""
THREAD_AXES_OF_DIMENSIONS = "stepwell.of_threads"
"""On an allocation: the thread axes that its first dimensions run over."""
WORKSPACE_MEMORY = "stepwell.workspace"
"""On an allocation: the workspace of its function, which native code keeps between calls."""
DISJOINT = "stepwell.disjoint"
"""On a view: no other view of its source with this attribute has elements in common with it, and all accesses of the
source are accesses of such views."""
WARP_BARRIER = "stepwell.of_warp"
"""On a gpu.barrier: only the threads of a warp need to wait for each other."""


def is_true(attr: Attribute | None) -> bool:
    """Whether an attribute is a unit attribute or an integer other than 0."""
    return isinstance(attr, UnitAttr) or (isinstance(attr, IntegerAttr) and attr.value.data != 0)
