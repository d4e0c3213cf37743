"""Passes on programs: `tvm.relax.transform`. Each runs passes of this package under TVM's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from ....core.arrays import plain_array
from ....core.errors import ArgumentError, UnsupportedError
from ....module import Module
from ....operators.relax import FuncOp
from ....operators.relax.devices import replace_device
from ....transforms.pipelines import run_pipeline
from ....transforms.relax.allocate_results import RelaxAllocateResultsPass
from ....transforms.relax.functions import relax_functions
from ....transforms.relax.fuse_kernels import RelaxFuseKernelsPass
from ....transforms.relax.inline_dataflow import RelaxInlineDataflowPass
from ....transforms.relax.legalize_operators import RelaxLegalizeOperatorsPass
from ....transforms.relax.lift_parameters import RelaxLiftParametersPass
from ....transforms.relax.realize_devices import RelaxRealizeDevicesPass
from ....transforms.relax.reuse_operands import RelaxReuseOperandsPass
from ....transforms.relay.eliminate_dead_code import RelayEliminateDeadCodePass
from ....transforms.relay.fold_constants import RelayFoldConstantsPass
from ....transforms.relay.to_te import ConvertRelayToTePass
from ....transforms.te.to_tir import ConvertTeToTirPass
from ...relay.parameters import bind_parameters
from ..absent import report_absent
from ..intrinsics import registered_attributes
from ..ir.module import IRModule, PrimFunc
from ..ir.vdevice import VDevice
from ..transform import FunctionalPass, PassContext, PassInfo, Transform, define_pass, no_change
from .backend.pattern_registry import FusionPattern as FusionPattern
from .backend.pattern_registry import PatternCheckContext as PatternCheckContext
from .batch_norm_folding import fold_batch_norms
from .bindings import BindingBlock, DataflowBlock
from .block_builder import BlockBuilder
from .block_names import name_blocks
from .conversions import (
    batch_norm_rules,
    callback_layout_rules,
    layout_rules,
    precision_rules,
    with_float16_params,
)
from .expr import Call, Expr, TupleGetItem, Var
from .expr_functor import PyExprMutator, Substitution
from .function import Function
from .gradients import add_adjoint
from .implementations import alter_calls, implementations_of
from .inlining import inline_private_functions
from .lazy_parameters import fetch_and_store, fetch_by_callback, store_by_callback
from .parallel import Check, CombineProducts
from .partition import FuseOpsByPattern, MergeCompositeFunctions, RunCodegen
from .product_order import product_order
from .rewrites import (
    Rule,
    expand_product_of_sum,
    fast_rules,
    rewrite,
    rewrite_functions,
    single_reshape,
    take_after_product,
    to_dataflow,
    transpose_after_concatenation,
)
from .signatures import expand_tuple_arguments, remove_unused_outputs, remove_unused_parameters
from .sizes import with_sizes
from .struct_info import StructInfo, TupleStructInfo
from .tuning import MetaScheduleApplyDatabase, MetaScheduleTuneIRMod, MetaScheduleTuneTIR

_report_absent = report_absent("tvm.relax.transform")

FunctionPass = DataflowBlockPass = FunctionalPass
"""The type of passes, as TVM's users ask for it: all of them transform modules."""

IN_BUILD = (
    "AllocateWorkspace",
    "AnnotateTIROpPattern",
    "CanonicalizeBindings",
    "ComputePrimValue",
    "FuseTransposeMatmul",
    "KillAfterLastUse",
    "LambdaLift",
    "LowerAllocTensor",
    "LowerRuntimeBuiltin",
    "Normalize",
    "NormalizeGlobalVar",
    "RemovePurityChecking",
    "RewriteCUDAGraph",
    "RewriteDataflowReshape",
    "SplitLayoutRewritePreproc",
    "StaticPlanBlockMemory",
    "VMBuiltinLower",
    "VMShapeLower",
)
"""The passes of TVM's pipelines whose work `relax.build` does, or which programs of this package do not need: they
leave a module as it is."""


def __getattr__(name: str) -> Any:
    if name not in IN_BUILD:
        return _report_absent(name)
    return lambda *options, **named: no_change(name)  # pyright: ignore[reportUnknownLambdaType]


def _pass(name: str, passes: Callable[[], Sequence[ModulePass]]) -> FunctionalPass:
    """A pass with TVM's name that runs passes of this package."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return run_pipeline(mod, passes())

    return FunctionalPass(run, PassInfo(0, name))


def BindParams(func_name: str, params: Mapping[str, Any]) -> FunctionalPass:
    """Replaces parameters of a function by constants. params: arrays by the names of parameters.

    The pass raises ArgumentError for an unknown parameter, and for an array of another type.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        arrays = {getattr(name, "name", name): plain_array(value) for name, value in params.items()}
        return bind_parameters(mod, arrays, func_name)

    return FunctionalPass(run, PassInfo(0, "BindParams"))


def BindSymbolicVars(binding_map: Mapping[Any, Any], func_name: str | None = None) -> FunctionalPass:
    """Replaces names of sizes by numbers.

    binding_map: numbers by names, or by variables.  func_name: the function, by default all that are not private. The
    pass raises ArgumentError for an unknown function or name.
    """
    return FunctionalPass(lambda mod, ctx: with_sizes(mod, binding_map, func_name), PassInfo(0, "BindSymbolicVars"))


def _legalization() -> list[ModulePass]:
    """The passes that replace operators by calls of functions of `tir`."""
    return [RelaxLegalizeOperatorsPass(), ConvertRelayToTePass(), ConvertTeToTirPass()]


Legalization = Callable[[BlockBuilder, Call], Any]
"""A function from a call of an operator to an expression in its place, with operations that the builder emits."""


def LegalizeOps(
    customize_legalize_map: Mapping[str, Legalization] | None = None, enable_warning: bool = False
) -> FunctionalPass:
    """Replaces operators by calls of functions of `tir`, whose blocks have TVM's names (`matmul`, `compute`).

    customize_legalize_map: functions by names of operators, for calls that become something else first: `relax.add`.
    They precede those that `tvm.ir.register_op_attr("relax.add", "FLegalize")` has registered.  enable_warning:
    ignored, as each operator has a function.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return name_blocks(run_pipeline(replace_calls(mod, customize_legalize_map or {}), _legalization()))

    return FunctionalPass(run, PassInfo(0, "LegalizeOps"))


def replace_calls(mod: IRModule, rules: Mapping[str, Legalization]) -> Module:
    """The module with calls of operators replaced, by functions as of `LegalizeOps`, and by registered ones."""
    rules = {**registered_attributes("FLegalize"), **rules}
    return _Legalizer(mod, rules).module() if rules else mod


class _Legalizer(PyExprMutator):
    """Replaces calls of operators by the results of functions."""

    def __init__(self, mod: IRModule, rules: Mapping[str, Legalization]):
        super().__init__(mod)
        self.mod, self.rules = mod, rules

    def module(self, func_name: str | None = None) -> Module:
        """The module with the functions of `relax` rewritten, or with one of them."""
        for name, func in self.mod.functions.items():
            if isinstance(func, Function) and func_name in (None, name.name_hint):
                self.builder_.update_func(name, self.visit_expr(func))
        return self.builder_.get()

    def visit_call_(self, op: Call) -> Expr:
        new = self.visit_expr_post_order(op)
        rule = self.rules.get(getattr(new.op, "name", "")) if isinstance(new, Call) else None
        if rule is None or not isinstance(new, Call):
            return new
        self.builder_.normalize(new)  # its type, which the function may ask for
        return rule(self.builder_, new)


def ConvertLayout(
    desired_layouts: Mapping[str, Sequence[str]],
    layout_cb: Callable[[Call], Mapping[str, Sequence[str]]] | None = None,
) -> FunctionalPass:
    """Computes convolutions in other layouts, with transposes around them.

    desired_layouts: by operator, `{"relax.nn.conv2d": ["NHWC", "OHWI"]}`: of images, weights, and results.  layout_cb:
    a function from a call to such a dictionary, in place of `desired_layouts`. UnsupportedError for other operators,
    and for a layout of other dimensions.
    """
    rules = layout_rules(desired_layouts) if layout_cb is None else callback_layout_rules(layout_cb)
    return FunctionalPass(lambda mod, ctx: _Legalizer(mod, rules).module(), PassInfo(0, "ConvertLayout"))


def ToMixedPrecision(out_dtype: str = "float32", fp16_input_names: Sequence[str] | None = None) -> FunctionalPass:
    """Computes products of matrices, of ranks 2 and 3, and convolutions of float32 on float16.

    out_dtype: of the sums; other operators stay in float32.  fp16_input_names: the names of parameters that are float16
    from then on. The pass raises ArgumentError for a parameter of another type than float32.
    """
    rules = precision_rules(out_dtype)

    def convert(mod: IRModule, ctx: PassContext) -> Module:
        narrow = _on_functions(lambda func: with_float16_params(func, fp16_input_names or ()), mod)
        return _Legalizer(narrow, rules).module()

    return FunctionalPass(convert, PassInfo(0, "ToMixedPrecision"))


def FoldBatchnormToConv2D() -> FunctionalPass:
    """Replaces the batch norm of a convolution with constant weights, in the layouts NCHW and OIHW, by a convolution
    with other weights and a sum, with the given mean and variance. `FoldConstant` computes the weights."""
    return FunctionalPass(lambda mod, ctx: _on_functions(fold_batch_norms, mod), PassInfo(0, "FoldBatchnormToConv2D"))


def DecomposeOpsForInference(func_name: str | None = None) -> FunctionalPass:
    """Replaces batch norms by sums and products with the given mean and variance. func_name: of the function, by
    default all."""
    return _decomposition("DecomposeOpsForInference", False, func_name)


def DecomposeOpsForTraining(func_name: str | None = None) -> FunctionalPass:
    """Replaces batch norms by sums and products with the mean and the variance of the batch, which move the given ones,
    except for those that say `training=False`. func_name: of the function, by default all."""
    return _decomposition("DecomposeOpsForTraining", True, func_name)


def _decomposition(name: str, is_training: bool, func_name: str | None) -> FunctionalPass:
    rules = batch_norm_rules(is_training)
    return FunctionalPass(lambda mod, ctx: _Legalizer(mod, rules).module(func_name), PassInfo(0, name))


def DataflowUseInplaceCalls() -> FunctionalPass:
    """Replaces operators by calls of functions of `tir`, and calls by calls in place where an operand is not read later
    and the function reads each element at the position that it writes."""
    return _pass("DataflowUseInplaceCalls", lambda: [*_legalization(), RelaxReuseOperandsPass()])


def CallTIRRewrite() -> FunctionalPass:
    """Replaces calls of kernels by allocations of their results, and calls that overwrite these."""
    return _pass("CallTIRRewrite", lambda: [RelaxAllocateResultsPass()])


def LiftTransformParams(shared_transform: bool = False) -> FunctionalPass:
    """Moves operations that depend on weights alone, the parameters after the first `num_input`, to a function
    `NAME_transform_params` from the weights to new weights. UnsupportedError for a function shared by several."""
    if shared_transform:
        raise UnsupportedError("LiftTransformParams: shared_transform is not supported, expected False")
    return _pass("LiftTransformParams", lambda: [RelaxInlineDataflowPass(), RelaxLiftParametersPass()])


def LazyTransformParams(
    fget_item: str = "get_item",
    fset_item: str | None = "set_item",
    extra_get_item_params: Sequence[Var] | None = None,
    extra_set_item_params: Sequence[Var] | None = None,
) -> FunctionalPass:
    """Rewrites functions whose names end in `transform_params`: they fetch each weight by a packed function before its
    first use, and store each result by another one as soon as it is computed.

    fget_item: the packed function that returns the weight of a position, after the values of `extra_get_item_params`,
    new parameters.  fset_item: the packed function of the values of `extra_set_item_params`, a position and a result;
    None for functions that return their results. Weights are the parameters after the first `num_input`, or the fields
    of the only one; shapes and numbers with names of sizes stay parameters. A weight is freed after its last use.
    UnsupportedError for a function that the module calls, and for weights on stated devices.
    """
    return _in_place(
        "LazyTransformParams",
        lambda module: fetch_and_store(
            module, fget_item, fset_item, extra_get_item_params or (), extra_set_item_params or ()
        ),
    )


def LazyGetInput() -> FunctionalPass:
    """Replaces the parameters after the first `num_input` of public functions by a function of a position and a name,
    which is called before the first use of each. UnsupportedError as of `LazyTransformParams`."""
    return _in_place("LazyGetInput", fetch_by_callback)


def LazySetOutput() -> FunctionalPass:
    """Adds a parameter to public functions, a function of a position and a value that gets each result as soon as it
    is computed; the functions return nothing. It follows the first `num_input` parameters. UnsupportedError as of
    `LazyTransformParams`."""
    return _in_place("LazySetOutput", store_by_callback)


def FuseOps(fuse_opt_level: int = -1) -> FunctionalPass:
    """Moves operators that are to be one kernel to functions of their own, which `FuseTIR` lowers, and replaces calls
    of kernels, as `LegalizeOps` leaves them, by calls of one kernel. fuse_opt_level: ignored, as there is one way of
    fusion."""
    return _pass("FuseOps", lambda: [RelaxLegalizeOperatorsPass(fuse=True), RelaxFuseKernelsPass()])


def FuseTIR() -> FunctionalPass:
    """Replaces functions of several operators by one function of `tir` each."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return name_blocks(run_pipeline(mod, [ConvertRelayToTePass(), ConvertTeToTirPass()]))

    return FunctionalPass(run, PassInfo(0, "FuseTIR"))


def FoldConstant() -> FunctionalPass:
    """Evaluates operators on constants."""
    return _pass("FoldConstant", lambda: [RelayFoldConstantsPass()])


def Gradient(func_name: str, require_grads: Var | Sequence[Var] | None = None, target_index: int = 0) -> FunctionalPass:
    """Adds the function `NAME_adjoint`, which returns the result of a function and the gradients of a scalar of it.

    require_grads: the parameters whose gradients are computed, by default all.  target_index: the position of the
    scalar if the result is a tuple.  The pass raises ArgumentError for a name that is no function or no parameter and
    for a target that is no scalar of floats, UnsupportedError for an operation without a gradient.
    """
    wanted = [require_grads] if isinstance(require_grads, Var) else require_grads
    names = None if wanted is None else [each.name_hint for each in wanted]
    return FunctionalPass(lambda mod, ctx: add_adjoint(mod, func_name, names, target_index), PassInfo(0, "Gradient"))


def DeadCodeElimination(entry_functions: Sequence[str] | None = None) -> FunctionalPass:
    """Removes dead operations, and private functions without calls. entry_functions: ignored, as all functions that are
    not private stay."""
    return _pass("DeadCodeElimination", lambda: [RelayEliminateDeadCodePass()])


def EliminateCommonSubexpr(call_only: bool = False) -> FunctionalPass:
    """Eliminates common subexpressions. call_only: ignored, as other expressions cost nothing."""
    return _pass("EliminateCommonSubexpr", lambda: [CommonSubexpressionElimination()])


def ToNonDataflow() -> FunctionalPass:
    """Replaces dataflow regions by their operations."""
    return _pass("ToNonDataflow", lambda: [RelaxInlineDataflowPass()])


def RealizeVDevice() -> FunctionalPass:
    """Replaces hints of devices by copies between devices."""
    return _pass("RealizeVDevice", lambda: [RelaxRealizeDevicesPass()])


def UpdateVDevice(new_vdevice: VDevice, index: int) -> FunctionalPass:
    """Replaces the device of a module at a position, with its memory scope. ArgumentError for a position that the
    module does not have."""

    def update(mod: IRModule, ctx: PassContext) -> IRModule:
        result = IRModule(mod.op.clone(), mod.constants)
        replace_device(result.op, index, str(new_vdevice.target), new_vdevice.memory_scope)
        return result

    return FunctionalPass(update, PassInfo(0, "UpdateVDevice"))


def function_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A pass from a function of a program, the module and the context, that returns a function. For a class with such a
    method `transform_function` a class of passes. traceable: ignored."""

    def on_module(transform: Transform) -> Transform:
        return lambda mod, ctx: _on_functions(lambda func: transform(func, mod, ctx), mod)

    return define_pass(pass_func, "transform_function", on_module, (opt_level, name, required))


def dataflowblock_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A pass from a dataflow block, the module and the context, that returns a dataflow block with the same outputs.
    For a class with such a method `transform_dataflowblock` a class of passes. traceable: ignored."""

    def on_module(transform: Transform) -> Transform:
        def on_blocks(mod: IRModule, ctx: PassContext) -> IRModule:
            return _on_functions(_Blocks(lambda block: transform(block, mod, ctx)).visit_expr, mod)

        return on_blocks

    return define_pass(pass_func, "transform_dataflowblock", on_module, (opt_level, name, required))


class _Blocks(PyExprMutator):
    """Applies a function to each dataflow block."""

    def __init__(self, change: Callable[[DataflowBlock], DataflowBlock]):
        super().__init__()
        self._change = change

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        changed = self._change(block)
        lost = [var.name_hint for var in block.outputs if var not in changed.outputs]
        if lost:
            raise ArgumentError(f"a dataflow block without the output {', '.join(lost)} that it had before the pass")
        return changed


def _on_functions(change: Callable[[Any], Any], mod: IRModule) -> IRModule:
    """A module whose functions of programs are changed."""
    result = IRModule(mod.op.clone(), mod.constants)
    for name, op in mod.function_ops.items():
        if isinstance(op, FuncOp):
            result[name] = change(mod[name])
    return result


def AttachExternModules(ext_mods: Sequence[Any] = ()) -> FunctionalPass:
    """Checks that the functions of external modules (`nn.ExternModule`) are registered, and leaves a module as it is.
    The pass raises LinkError for a function that is not registered."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        for each in ext_mods or ():
            each.load()
        return mod

    return FunctionalPass(run, PassInfo(0, "AttachExternModules"))


def CombineParallelMatmul(check: Check | None = None) -> FunctionalPass:
    """Replaces products with an equal first operand by one product with the second operands side by side, and its
    parts. Biases are added to the parts.

    check: a function of the first operand, the second ones, an empty list, and the bindings of the block, which says
    whether products are combined.
    """

    def combine(mod: IRModule, ctx: PassContext) -> IRModule:
        return _on_functions(lambda func: CombineProducts(check).visit_expr(func), mod)

    return FunctionalPass(combine, PassInfo(0, "CombineParallelMatmul"))


def UpdateParamStructInfo(sinfo_func: Callable[[Var], StructInfo | None]) -> FunctionalPass:
    """Changes the types of parameters; the types of values follow.

    sinfo_func: a function from a parameter to its new type, None to keep it. The pass raises the errors of operators
    that do not fit their new operands.
    """

    def update(mod: IRModule, ctx: PassContext) -> IRModule:
        return _on_functions(lambda func: _Parameters(sinfo_func).visit_expr(func), mod)

    return FunctionalPass(update, PassInfo(1, "UpdateParamStructInfo"))


class _Parameters(PyExprMutator):
    """Changes the types of the parameters of a function."""

    def __init__(self, sinfo_func: Callable[[Var], StructInfo | None]):
        super().__init__()
        self._sinfo_func = sinfo_func

    def visit_function_(self, op: Function) -> Function:
        for param in op.params:
            info = self._sinfo_func(param)
            if info is not None and info != param.struct_info:
                self.set_var_remap(param, Var(param.name_hint, info))
        return super().visit_function_(op)


def BundleModelParams(param_tuple_name: str = "model_params") -> FunctionalPass:
    """Replaces the parameters of functions after the first `num_input` by one parameter, a tuple of them.

    param_tuple_name: the name of the tuple. Functions without the attribute `num_input` stay."""

    def bundle(func: Function) -> Function:
        count = func.attrs.get("num_input")
        if count is None:
            return func
        params = func.params[int(count) :]
        whole = Var(param_tuple_name, TupleStructInfo([param.struct_info for param in params]))
        fields = {param: TupleGetItem(whole, n) for n, param in enumerate(params)}
        body = Substitution(fields).visit_expr(func.body)
        return Function([*func.params[: int(count)], whole], body, func.ret_struct_info, attrs=func.attrs)

    return FunctionalPass(lambda mod, ctx: _on_functions(bundle, mod), PassInfo(0, "BundleModelParams"))


def _in_place(name: str, change: Callable[[Any], None]) -> FunctionalPass:
    """A pass that changes a copy of the operations of a module."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        result = IRModule(mod.op.clone(), mod.constants)
        change(result.op)
        return result

    return FunctionalPass(run, PassInfo(0, name))


def RemoveUnusedParameters() -> FunctionalPass:
    """Removes the parameters of private functions that the functions do not use. A name of a size that only such a
    parameter determines becomes a number among the parameters."""
    return _in_place("RemoveUnusedParameters", remove_unused_parameters)


def RemoveUnusedOutputs() -> FunctionalPass:
    """Removes the fields of the results of private functions that no call uses."""
    return _in_place("RemoveUnusedOutputs", remove_unused_outputs)


def ExpandTupleArguments() -> FunctionalPass:
    """Replaces the parameters of private functions that are tuples by their fields."""
    return _in_place("ExpandTupleArguments", expand_tuple_arguments)


def InlinePrivateFunctions() -> FunctionalPass:
    """Replaces the calls of private functions that are not recursive by their operations, and removes the functions."""
    return _in_place("InlinePrivateFunctions", inline_private_functions)


def ConvertToDataflow(min_size: int = 2) -> FunctionalPass:
    """Moves consecutive operations without side effects to dataflow regions.

    min_size: the number of computations that a region has at least.
    """
    return _in_place("ConvertToDataflow", lambda module: to_dataflow(module, min_size))


def AttachGlobalSymbol() -> FunctionalPass:
    """Makes all functions of programs public: a private one has no global symbol."""

    def publish(module: Any) -> None:
        for func in relax_functions(module):
            func.private = None

    return _in_place("AttachGlobalSymbol", publish)


def _rewrite(name: str, rule: Rule) -> FunctionalPass:
    return FunctionalPass(lambda mod, ctx: rewrite(mod, rule), PassInfo(0, name))


def ExpandMatmulOfSum() -> FunctionalPass:
    """Replaces a product with a sum of two matrices by the sum of two products, unless weights, the parameters after
    the first `num_input`, alone determine the sum."""
    return _rewrite("ExpandMatmulOfSum", expand_product_of_sum)


def ReorderTakeAfterMatmul() -> FunctionalPass:
    """Replaces a product with selected columns of a matrix by the selected columns of a product."""
    return _rewrite("ReorderTakeAfterMatmul", take_after_product)


def ReorderPermuteDimsAfterConcat() -> FunctionalPass:
    """Replaces a concatenation of transposes by the transpose of a concatenation."""
    return _rewrite("ReorderPermuteDimsAfterConcat", transpose_after_concatenation)


def RemoveRedundantReshape() -> FunctionalPass:
    """Replaces a reshape of a reshape by one, and removes reshapes to the shape of the operand."""
    return _rewrite("RemoveRedundantReshape", single_reshape)


def AdjustMatmulOrder() -> FunctionalPass:
    """Computes `x * (a * b)` as `(x * a) * b`, or the other way, if it takes fewer multiplications for all sizes that
    the upper bounds `tir_var_upper_bound` allow. Two weights, parameters after the first `num_input`, are multiplied
    first. Floats are rounded in the order of the result."""
    return FunctionalPass(
        lambda mod, ctx: rewrite_functions(mod, lambda func: product_order(func.func.size_bounds)),
        PassInfo(1, "AdjustMatmulOrder"),
    )


def AlterOpImpl(
    op_impl_map: Mapping[str, PrimFunc],
    op_buffer_transforms: Mapping[str, Sequence[Any]],
    op_buffer_axis_separators: Mapping[str, Sequence[Any]] | None = None,
    op_buffer_input_axis_separators: Mapping[str, Sequence[Any]] | None = None,
) -> FunctionalPass:
    """Replaces calls of kernels by their attribute `operator_name`.

    op_impl_map: the kernels in their place.  op_buffer_transforms: by the same names, the index maps from the layouts
    of the operands and the results to those of the new kernel, to which tensors are copied; places without an element
    are 0.  op_buffer_axis_separators, op_buffer_input_axis_separators: empty lists. The pass raises UnsupportedError
    for separators, since the memory of tensors is flat, and for tensors of unknown extents; OptionError for another
    number of index maps than tensors.
    """
    separators = (op_buffer_axis_separators or {}, op_buffer_input_axis_separators or {})
    implementations = implementations_of(op_impl_map, op_buffer_transforms, separators)
    return FunctionalPass(lambda mod, ctx: alter_calls(mod, implementations), PassInfo(0, "AlterOpImpl"))


def FastMathTransform() -> FunctionalPass:
    """Replaces `exp`, `erf`, `tanh` and `nn.softmax` by the kernels of `topi.fast_exp` and others, which are as
    accurate as the operators."""
    return FunctionalPass(lambda mod, ctx: _Legalizer(mod, fast_rules()).module(), PassInfo(0, "FastMathTransform"))


__all__ = [
    "AdjustMatmulOrder",
    "AlterOpImpl",
    "AttachExternModules",
    "AttachGlobalSymbol",
    "BindParams",
    "BindSymbolicVars",
    "BundleModelParams",
    "CallTIRRewrite",
    "CombineParallelMatmul",
    "ConvertLayout",
    "ConvertToDataflow",
    "DataflowUseInplaceCalls",
    "DeadCodeElimination",
    "DecomposeOpsForInference",
    "DecomposeOpsForTraining",
    "EliminateCommonSubexpr",
    "ExpandMatmulOfSum",
    "ExpandTupleArguments",
    "FastMathTransform",
    "FoldBatchnormToConv2D",
    "FoldConstant",
    "FuseOps",
    "FuseOpsByPattern",
    "FuseTIR",
    "Gradient",
    "InlinePrivateFunctions",
    "LazyGetInput",
    "LazySetOutput",
    "LazyTransformParams",
    "LegalizeOps",
    "LiftTransformParams",
    "MergeCompositeFunctions",
    "MetaScheduleApplyDatabase",
    "MetaScheduleTuneIRMod",
    "MetaScheduleTuneTIR",
    "RealizeVDevice",
    "RemoveRedundantReshape",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "ReorderPermuteDimsAfterConcat",
    "ReorderTakeAfterMatmul",
    "RunCodegen",
    "ToMixedPrecision",
    "ToNonDataflow",
    "UpdateParamStructInfo",
    "UpdateVDevice",
    "dataflowblock_pass",
    "function_pass",
]  # fmt: skip
