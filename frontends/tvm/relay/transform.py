"""Passes on graphs: `tvm.relay.transform`. Each runs passes of this package under TVM's name.

A pass of TVM is present if a pass of this package serves its purpose. Passes of this package are also accepted
directly, under their own names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.passes import ModulePass as CompilerPass

from ....core.errors import OptionError
from ....module import Module
from ....operators.relay import FuncOp
from ....transforms.pipelines import run_pipeline
from ....transforms.relay.fuse_operators import RelayFuseOperatorsPass
from ....transforms.relay.infer_types import RelayInferTypesPass
from ...relay.analysis import free_vars
from ...relay.expr import Call, Expr, Function, GlobalVar, Var
from ...relay.functor import TypeAnnotator
from ...relay.gradients import gradient as gradient_of
from ...relay.inference import infer_types
from ..absent import report_absent
from ..ir.module import IRModule
from ..target.compilation_config import CompilationConfig
from ..transform import FunctionalPass, PassContext, PassInfo, Transform, define_pass, no_change
from ..transform import ModulePass as ModulePass
from ..transform import Pass as Pass
from ..transform import PrintIR as PrintIR
from ..transform import Sequential as Sequential
from ..transform import module_pass as module_pass
from . import casts, normal_forms, parallel
from .altered_layouts import alter_layouts
from .atrous import flatten_atrous
from .bias import canonicalize_bias
from .call_graph import used_functions
from .common_subexpressions import share_subexpressions
from .dead_code import eliminate_dead_code
from .device_planning import devices_in, plan, prepare
from .dynamic import make_static
from .fake_quantization import convert_after_dequantize, convert_fake_quantization
from .folding import fold_constants, simplify_inference
from .inlining import Inliner, defuse, inline_functions
from .layouts import convert_layouts
from .legalization import legalize
from .lifting import expand_functions, lift_functions
from .mixed_precision import convert_precision
from .op import rules_of
from .padding import fold_padding
from .parser import parse
from .partial_evaluation import evaluate_partially
from .recasting import change_batch
from .recasting import recast as recast
from .region_functions import partition_module
from .regions import annotate_targets, merge_regions
from .scales import fold_backward, fold_forward
from .simplification import simplify
from .weights import (
    make_convolutions_sparse,
    require_sparse_convolution,
    use_sparse_convolutions,
    use_sparse_weights,
    use_transposed_weights,
)

__getattr__ = report_absent("tvm.relay.transform")

FunctionPass = FunctionalPass
"""The type of passes, as TVM's users ask for it: all of them transform modules."""


def InferType() -> FunctionalPass:
    """Infers the types of all tensors again from the parameters; types are already known when a graph is built. Graphs
    stay as the user wrote them, and their functions get the types of their results."""
    return FunctionalPass(lambda mod, ctx: _with_types(mod), PassInfo(0, "InferType"))


def _with_types(mod: IRModule) -> IRModule:
    if not mod.has_operations:
        return _program_with_types(mod)
    if not mod.is_written:
        typed = run_pipeline(mod, [RelayInferTypesPass()])
        return IRModule(typed.op, typed.constants)
    return on_graphs(lambda func: TypeAnnotator().visit(func), mod, is_normal=False)


def _program_with_types(mod: IRModule) -> IRModule:
    """A program without operations, with the types of its expressions."""
    functions = {name: each for name, each in mod.items() if isinstance(each, Function)}
    infer_types(functions)
    result = IRModule()
    result.type_definitions |= mod.type_definitions
    result.add_graphs({name: TypeAnnotator().visit(each) for name, each in functions.items()})
    return result


def InferTypeLocal(expr: Expr) -> Any:
    """The type of an expression outside of a module, which the expression records as its `checked_type`.

    OptionError if the type does not follow from the annotations of the free variables, and for types that do not go
    together.
    """
    infer_types({"main": expr if isinstance(expr, Function) else Function(free_vars(expr), expr)})
    return expr.checked_type


def AnnotateSpans() -> FunctionalPass:
    """The module as read from its text. The places in the text are not recorded: errors show the lines of the program
    that built the graph."""
    return FunctionalPass(lambda mod, ctx: parse(mod.astext()), PassInfo(0, "AnnotateSpans"))


def FoldConstant(fold_qnn: bool = False) -> FunctionalPass:
    """Evaluates expressions of constants, as the compiled graph computes them.

    fold_qnn: whether operators on quantized integers are evaluated, too.
    """
    return _on_typed("FoldConstant", 2, lambda func: fold_constants(func, fold_qnn))


def FoldConstantExpr(expr: Expr, mod: IRModule, fold_qnn: bool = False) -> Expr:
    """The expression in which expressions of constants are constants. mod: the module that the expression is part of,
    which is ignored: expressions name no functions of it."""
    return fold_constants(expr, fold_qnn)


def DynamicToStatic() -> FunctionalPass:
    """Replaces attributes that are known at run time by numbers where constants and known shapes determine them."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        if mod.has_operations:
            return mod
        result = IRModule()
        result.type_definitions |= mod.type_definitions
        result.add_graphs(make_static({name: each for name, each in mod.items() if isinstance(each, Function)}))
        return result

    return FunctionalPass(run, PassInfo(2, "DynamicToStatic"))


def RemoveUnusedFunctions(entry_functions: Sequence[str] = ("main",)) -> FunctionalPass:
    """Removes the functions that no function of some names calls or uses, also through others."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {name: each for name, each in mod.items() if isinstance(each, Function)}
        kept = used_functions(functions, entry_functions)
        if len(kept) == len(functions):
            return mod
        result = IRModule({name: each for name, each in mod.items() if name not in functions})
        result.type_definitions |= mod.type_definitions
        result.add_graphs({name: functions[name] for name in functions if name in kept})
        return result

    return FunctionalPass(run, PassInfo(1, "RemoveUnusedFunctions"))


def SimplifyInference() -> FunctionalPass:
    """Replaces `nn.batch_norm` by a product and a sum, and `nn.dropout` by its operand. Other norms are kernels."""
    return _on_typed("SimplifyInference", 0, simplify_inference)


def SimplifyExpr() -> FunctionalPass:
    """Replaces operators by fewer or simpler ones with the same result; sums and products with constants may round
    differently."""
    return _on_typed("SimplifyExpr", 0, simplify)


def ForwardFoldScaleAxis() -> FunctionalPass:
    """Multiplies weights by the scales of their data; results may round differently."""
    return _on_typed("ForwardFoldScaleAxis", 3, fold_forward)


def BackwardFoldScaleAxis() -> FunctionalPass:
    """Multiplies weights by the scales of their results; results may round differently."""
    return _on_typed("BackwardFoldScaleAxis", 3, fold_backward)


def FoldScaleAxis() -> FunctionalPass:
    """Multiplies weights by the scales of their results, then by those of their data, and folds constants; results may
    round differently."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        for change in (fold_backward, fold_forward, fold_constants):
            mod = _with_types(on_graphs(change, _with_types(mod), is_normal=False))
        return mod

    return FunctionalPass(run, PassInfo(3, "FoldScaleAxis"))


def EliminateCommonSubexpr(fskip: Callable[[Expr], bool] | None = None) -> FunctionalPass:
    """Computes calls of one operator with the same operands and attributes once.

    fskip: whether an expression stays as it is.
    """
    return _on_typed(
        "EliminateCommonSubexpr", 3, lambda func: share_subexpressions(func, fskip or (lambda expr: False))
    )


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> FunctionalPass:
    """Removes bindings of variables that no expression uses.

    inline_once: whether a value that is used once takes the place of its variable, unless inside of a function.
    ignore_impurity: whether bindings are removed that read or write references, too.
    """
    return _on_functions(
        "DeadCodeElimination", 1, lambda functions: eliminate_dead_code(functions, inline_once, ignore_impurity)
    )


def FuseOps(fuse_opt_level: int = -1) -> FunctionalPass:
    """Groups operators into functions inside of their graph, one per kernel, with the attribute `Primitive`.
    fuse_opt_level: 0 for one operator per function, -1 for the
    level of the context. OptionError for a level below -1.
    """
    if fuse_opt_level < -1:
        raise OptionError(f"FuseOps: level {fuse_opt_level}, expected one from 0 on, or -1")

    def passes(ctx: PassContext) -> list[CompilerPass]:
        level = ctx.opt_level if fuse_opt_level == -1 else fuse_opt_level
        return [RelayFuseOperatorsPass(level=2 if level else 0)]

    def run(mod: IRModule, ctx: PassContext) -> Module:
        fused = IRModule((result := run_pipeline(mod, passes(ctx))).op, result.constants)
        graphs = {name: func for name, func in fused.items() if isinstance(func, Function) and name not in mod}
        kernels = {name: func.with_attr("Primitive", 1) for name, func in graphs.items()}
        inlined = {name: Inliner(kernels).visit(func) for name, func in fused.items() if name not in kernels}
        return _with_types(IRModule(inlined))

    return FunctionalPass(run, PassInfo(0, "FuseOps"))


def DefuseOps() -> FunctionalPass:
    """Replaces calls of functions inside of graphs, as `FuseOps` makes them, by the bodies of the functions."""
    return _on_typed("DefuseOps", 3, defuse)


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> FunctionalPass:
    """Computes convolutions in other layouts; transposes convert their operands and results, and those between two
    converted operators cancel.

    desired_layouts: by the name of an operator, the layout of the data and of the weight ("default" for the data's
    usual one): `{"nn.conv2d": ["NHWC", "HWIO"]}`. OptionError for another operator, and for a layout that it lacks.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return _with_types(on_graphs(lambda func: convert_layouts(func, desired_layouts), mod))

    return FunctionalPass(run, PassInfo(3, "ConvertLayout"))


def AlterOpLayout() -> FunctionalPass:
    """Computes operators in the layouts of the functions that `relay.op.register_alter_op_layout` has registered, and
    operators that compute the same in any layout in those of their operands."""
    return _on_typed("AlterOpLayout", 3, lambda func: alter_layouts(func, rules_of("FTVMAlterOpLayout")))


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> FunctionalPass:
    """Replaces calls of operators by the expressions of functions that `relay.op.register_legalize` has registered.

    legalize_map_attr_name: the attribute of the registration; without a function for it, the graph stays.  OptionError
    for a function that returns another value than an expression or None.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return on_graphs(lambda func: legalize(func, rules_of(legalize_map_attr_name)), mod)

    return FunctionalPass(run, PassInfo(1, "Legalize"))


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> FunctionalPass:
    """Computes products in another data type of floats, and the operators between them as their operands are.

    mixed_precision_type: the data type.  missing_op_mode: 0 for an error at operators without a rule, which
    `relay.op.register_mixed_precision_conversion` registers; 1 and 2 compute them as their operands are. The option
    `relay.ToMixedPrecision.keep_orig_output_dtype` of the context keeps the data types of results. OptionError for a
    data type other than floats, and for another mode.
    """
    if missing_op_mode not in (0, 1, 2):
        raise OptionError(f"ToMixedPrecision: missing_op_mode {missing_op_mode!r}, expected 0, 1 or 2")

    def run(mod: IRModule, ctx: PassContext) -> Module:
        keeps = bool(ctx.config.get("relay.ToMixedPrecision.keep_orig_output_dtype"))
        change = lambda func: convert_precision(func, mixed_precision_type, keeps, missing_op_mode == 0)  # noqa: E731
        return _with_types(on_graphs(change, mod, is_normal=False))

    return FunctionalPass(run, PassInfo(0, "ToMixedPrecision"))


def MergeComposite(pattern_table: Sequence[Sequence[Any]]) -> FunctionalPass:
    """Moves the operators of each match of a pattern to a function with the attribute `Composite`, which the graph
    calls.

    pattern_table: tuples of a name, a pattern, and perhaps a function from a match to whether it becomes a function;
    earlier patterns have precedence.
    """

    def merge(func: Function, name: str, pattern: Any, check: Callable[[Expr], bool] = lambda match: True) -> Function:
        body = pattern.partition(func.body, {"Composite": name}, check)
        return Function(func.params, body, type_params=func.type_params, attrs=func.attrs)

    def run(mod: IRModule, ctx: PassContext) -> Module:
        for row in pattern_table:
            mod = _with_types(on_graphs(lambda func, row=row: merge(func, *row), mod, is_normal=False))
        return mod

    return FunctionalPass(run, PassInfo(0, "MergeComposite"))


def PlanDevices(config: CompilationConfig) -> FunctionalPass:
    """States a device for each value of programs on several devices: as annotations of parameters and results, marks
    `on_device`, and copies `device_copy`.

    config: the result of `tvm.target.make_compilation_config`.  OptionError for values that must be on several devices.
    """

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        functions = prepare({name: each for name, each in mod.items() if isinstance(each, Function)}, config)
        infer_types(functions)
        return _with_graphs(mod, plan(functions, config))

    return FunctionalPass(run, PassInfo(0, "PlanDevices"))


def RecoverVirtualDeviceMap(mod: IRModule, expr: Function) -> dict[Expr, Any]:
    """The devices that a result of `PlanDevices` states for the expressions of a function. mod: its module, which the
    devices do not depend on."""
    return dict(devices_in(expr))


def DivToMul() -> FunctionalPass:
    """Replaces quotients of floats by constants by products with the reciprocals, which may round differently."""
    return _on_typed("DivToMul", 0, casts.multiply_by_reciprocals)


def ChangeBatch(data: Mapping[Var, int], batch_size: int = 16) -> FunctionalPass:
    """Gives parameters another batch. data: the axis of the batch by the parameter of `main`."""
    return FunctionalPass(
        lambda mod, ctx: on_graphs(lambda func: change_batch(func, data, batch_size), mod, is_normal=False),
        PassInfo(0, "ChangeBatch"),
    )


def FlexibleShapeDispatch(
    buckets: Sequence[int],
    axis: int = 0,
    auto_pad: bool = False,
    pad_value: float = 0,
    input_indices: Sequence[int] | None = None,
    affects_output: bool = True,
) -> FunctionalPass:
    """Lets an axis of parameters of `main` have any size.

    axis: the axis.  input_indices: the positions of the parameters, by default the first.  buckets, auto_pad,
    pad_value, affects_output: the sizes for which TVM compiles kernels, and how it pads others to them, without effect:
    kernels of this package compute any size, and the sizes of results follow from them. ArgumentError for a parameter
    without a type.
    """

    def change(func: Function) -> Function:
        params = [func.params[n] for n in ((0,) if input_indices is None else input_indices)]
        return change_batch(func, dict.fromkeys(params, axis), "flexible")

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        typed = _with_types(mod)
        functions = {name: each for name, each in typed.items() if isinstance(each, Function)}
        return _with_types(_with_graphs(typed, {**functions, "main": change(functions["main"])}))

    return FunctionalPass(run, PassInfo(0, "FlexibleShapeDispatch"))


def CanonicalizeCast() -> FunctionalPass:
    """Gives each elementwise operator a cast to a wider type of its own, instead of one that operators share."""
    return _on_typed("CanonicalizeCast", 3, casts.copy_casts)


def AnnotateTarget(targets: str | Sequence[str], include_non_call_ops: bool = True) -> FunctionalPass:
    """Marks the operators that other compilers compute, as functions of `tvm.ir.register_op_attr` say, and composite
    functions with the name of a compiler.

    targets: the compilers, the preferred ones first.  include_non_call_ops: whether tuples and their fields are marked
    too.
    """
    names = [targets] if isinstance(targets, str) else [*targets]
    return _on_typed("AnnotateTargetFunc", 0, lambda func: annotate_targets(func, names, include_non_call_ops))


def MergeCompilerRegions() -> FunctionalPass:
    """Makes regions of one compiler one region, unless another region lies between them."""
    return _on_typed("MergeCompilerRegions", 0, merge_regions)


def PartitionGraph(mod_name: str = "default", bind_constants: bool = True) -> FunctionalPass:
    """Moves the regions of other compilers to functions of the module, with the attribute `Compiler`.

    mod_name: the part of their names between `tvmgen_` and the compiler.  bind_constants: whether constants are parts
    of the functions instead of arguments. A function registered as `relay.ext.COMPILER.optimize` changes the functions
    of its compiler.
    """
    return FunctionalPass(
        lambda mod, ctx: _with_types(partition_module(_with_types(mod), mod_name, bind_constants)),
        PassInfo(0, "PartitionGraph"),
    )


def LambdaLift() -> FunctionalPass:
    """Moves functions inside of functions to the module. A function that uses variables around it is the result of a
    function of these variables, with the attribute `Closure`."""
    return _on_functions("LambdaLift", 1, lift_functions)


def EtaExpand(expand_constructor: bool = False, expand_global_var: bool = False) -> FunctionalPass:
    """Replaces functions that are values by functions that call them.

    expand_constructor: whether constructors are replaced.  expand_global_var: whether functions of the module are.
    """
    return _on_functions(
        "EtaExpand", 1, lambda functions: expand_functions(functions, expand_global_var, expand_constructor)
    )


def PartialEvaluate() -> FunctionalPass:
    """Evaluates programs as far as constants determine them: calls of functions, branches, matches, references. The
    result has dead bindings, which `DeadCodeElimination` removes."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {name: each for name, each in mod.items() if isinstance(each, Function)}
        return _with_graphs(mod, evaluate_partially(functions))

    return FunctionalPass(run, PassInfo(1, "PartialEvaluate"))


def ToANormalForm() -> FunctionalPass:
    """Binds each expression to a variable of its own, in the order of computation; branches and functions have their
    own bindings."""
    return _on_written("ToANormalForm", normal_forms.to_a_normal_form)


def ToBasicBlockNormalForm() -> FunctionalPass:
    """Binds expressions that several branches or functions share to variables outside of these; all others stay."""
    return _on_written("ToBasicBlockNormalForm", normal_forms.to_basic_blocks)


def ToGraphNormalForm() -> FunctionalPass:
    """Replaces variables that are bound to expressions by the expressions."""
    return _on_written("ToGraphNormalForm", normal_forms.to_graph)


def FoldExplicitPadding() -> FunctionalPass:
    """Makes `nn.pad` before a convolution or a pool part of its padding, if both pad with the same value."""
    return _on_typed("FoldExplicitPadding", 0, fold_padding)


def FastMath() -> FunctionalPass:
    """Leaves a module as it is: native code computes `exp`, `tanh`, `erf` and the softmax by polynomials already."""
    return no_change("FastMath", 4)


def FlattenAtrousConv() -> FunctionalPass:
    """Makes a convolution between `nn.space_to_batch_nd` and `nn.batch_to_space_nd` a dilated convolution."""
    return _on_typed("FlattenAtrousConv", 0, flatten_atrous)


def CanonicalizeOps() -> FunctionalPass:
    """Makes `nn.bias_add` a sum with the bias in as many dimensions as the data has from its axis on."""
    return _on_typed("CanonicalizeOps", 3, canonicalize_bias)


def LazyGradientInit() -> FunctionalPass:
    """The module with types: kernels compute the zeros and ones of gradients where they use them, so none are in
    memory."""
    return _on_typed("LazyGradientInit", 1, lambda func: func)


def CombineParallelConv2D(min_num_branches: int = 3) -> FunctionalPass:
    """Computes convolutions of one image, with weights of the same size but for the output channels, as one.

    min_num_branches: the number of convolutions from which they are combined.
    """
    return _combining(
        "CombineParallelConv2D", "nn.conv2d", parallel.convolution_key, min_num_branches, parallel.combine_convolutions
    )


def CombineParallelDense(min_num_branches: int = 3, to_batch: bool = True) -> FunctionalPass:
    """Computes products of one operand with several weights as one.

    min_num_branches: the number of products from which they are combined.  to_batch: whether weights of one shape
    become a batch; otherwise weights with as many columns are joined.
    """
    key, combine = parallel.dense_key_as_rows, parallel.combine_dense_as_rows
    if to_batch:
        key, combine = parallel.dense_key_as_batch, parallel.combine_dense_as_batch
    return _combining("CombineParallelDense", "nn.dense", key, min_num_branches, combine)


def CombineParallelBatchMatmul(min_num_branches: int = 3) -> FunctionalPass:
    """Computes products of one batch of matrices with several others as one.

    min_num_branches: the number of products from which they are combined.
    """
    return _combining(
        "CombineParallelBatchMatmul", "nn.batch_matmul", parallel.batch_key, min_num_branches, parallel.combine_batches
    )


def _combining(name: str, op: str, key: Callable[[Call], Any], least: int, combine: parallel.Combine) -> FunctionalPass:
    return _on_typed(name, 4, lambda func: parallel.combine_products(func, op, key, least, combine))


def _on_functions(
    name: str, level: int, change: Callable[[Mapping[str, Function]], Mapping[str, Function]]
) -> FunctionalPass:
    """A pass that changes the functions of a module together, as the user wrote them; their nodes have types before and
    after."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        typed = _with_types(mod)
        functions = {name: each for name, each in typed.items() if isinstance(each, Function)}
        return _with_types(_with_graphs(typed, change(functions)))

    return FunctionalPass(run, PassInfo(level, name))


def _with_graphs(mod: IRModule, functions: Mapping[str, Function]) -> IRModule:
    """A module with other functions in place of its graphs."""
    result = IRModule({name: each for name, each in mod.items() if not isinstance(each, Function)})
    result.type_definitions |= mod.type_definitions
    result.add_graphs(functions)
    return result


def _on_typed(name: str, level: int, change: Callable[[Function], Function]) -> FunctionalPass:
    """A pass that changes graphs as the user wrote them, whose nodes have types before and after. Functions of other
    compilers stay."""

    def change_own(func: Function) -> Function:
        return func if "Compiler" in (func.attrs or {}) else change(func)

    return FunctionalPass(
        lambda mod, ctx: _with_types(on_graphs(change_own, _with_types(mod), is_normal=False)), PassInfo(level, name)
    )


def _on_written(name: str, change: Callable[[Function], Function], level: int = 1) -> FunctionalPass:
    """A pass that changes graphs as the user wrote them."""
    return FunctionalPass(lambda mod, ctx: on_graphs(change, mod, is_normal=False), PassInfo(level, name))


def BatchingOps() -> Sequential:
    """Combines convolutions and products of matrices of one input: `CombineParallelConv2D`, `CombineParallelDense` and
    `CombineParallelBatchMatmul`."""
    return Sequential([CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()])


def SimplifyFCTranspose(target_weight_name: Sequence[str]) -> FunctionalPass:
    """Lets `nn.dense` take parameters `NAME.T` in place of transposes. target_weight_name: the weights to replace,
    those of `relay.analysis.search_fc_transpose`."""
    names = [str(each) for each in target_weight_name]
    return _on_typed("SimplifyFCTranspose", 4, lambda func: use_transposed_weights(func, names))


def DenseToSparse(weight_name: Sequence[Any], weight_shape: Sequence[Sequence[Any]]) -> FunctionalPass:
    """Lets `nn.sparse_dense` compute products with weights in BSR: parameters `NAME.data`, `NAME.indices` and
    `NAME.indptr` in place of a weight.

    weight_name: the weights.  weight_shape: for each weight the extents of the three parts, in one list.
    `relay.data_dep_optimization.bsr_dense.convert` computes both. OptionError for lists of different lengths.
    """
    return _on_typed("DenseToSparse", 4, lambda func: use_sparse_weights(func, weight_name, weight_shape))


def Conv2dToSparse(
    weight_name: Sequence[Any], weight_shape: Sequence[Sequence[Any]], layout: str, kernel_size: int
) -> FunctionalPass:
    """Lets `nn.sparse_conv2d` compute convolutions of one pixel with weights in BSR, without steps, padding and groups.

    weight_name, weight_shape: as of `DenseToSparse`.  layout: of the images, NHWC or NCHW. UnsupportedError for another
    kernel_size than 1, OptionError for another layout.
    """
    require_sparse_convolution("Conv2dToSparse", layout, kernel_size)
    return _on_typed("Conv2dToSparse", 4, lambda func: use_sparse_convolutions(func, weight_name, weight_shape, layout))


def Conv2dToSparse2(
    layout: str, kernel_size: int, blocksize: Sequence[int], sparsity_threshold: float
) -> FunctionalPass:
    """Lets `nn.sparse_conv2d` compute convolutions of one pixel with constant weights, in which enough blocks are zero.

    layout, kernel_size: as of `Conv2dToSparse`.  blocksize: the rows and columns of a block.  sparsity_threshold: the
    least share of the elements that lie in blocks of zeros. OptionError for a weight that is not of whole blocks.
    """
    require_sparse_convolution("Conv2dToSparse2", layout, kernel_size)
    return _on_typed(
        "Conv2dToSparse2", 5, lambda func: make_convolutions_sparse(func, layout, blocksize, sparsity_threshold)
    )


def FirstOrderGradient() -> FunctionalPass:
    """Lets each graph of the module return its result together with the gradients of its parameters. UnsupportedError
    as of `gradient`."""
    return _on_typed("FirstOrderGradient", 0, lambda func: gradient(func, mode="first_order"))


def ToANormalFormExpr(e: Expr) -> Expr:
    """The expression in which each value is bound to a variable, as by `ToANormalForm`."""
    return normal_forms.bind_values(e)


def FakeQuantizationToInteger(hard_fail: bool = False, use_qat: bool = False) -> FunctionalPass:
    """Computes operators between `qnn.dequantize` and `qnn.quantize` on the integers. Results may round differently.

    hard_fail: whether an operator that has no form on integers is an error; otherwise its region stays.  use_qat:
    whether operators on dequantized numbers whose results are not quantized are converted too.
    """

    def run(mod: IRModule, ctx: PassContext) -> Module:
        whole = on_graphs(lambda func: convert_fake_quantization(func, hard_fail), mod)
        return on_graphs(convert_after_dequantize, whole) if use_qat else whole

    return FunctionalPass(run, PassInfo(0, "FakeQuantizationToInteger"))


def Inline() -> FunctionalPass:
    """Replaces calls of functions of the module that have the attribute `Inline`, and removes these functions."""

    return FunctionalPass(lambda mod, ctx: inline_functions(mod), PassInfo(1, "InlineGlobals"))


def gradient(expr: Function | GlobalVar, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """The function that returns the result of a function and a tuple with the gradient of each parameter: that of the
    sum of all elements of the result.

    expr: the function, or its name in `mod`.  mod: the module of the functions that `expr` calls.  mode: of a tuple
    "higher_order" adds the elements of the first tensor, "first_order" those of all.
    OptionError for another mode, and for an expression that is not a function; UnsupportedError for an operator without
    a gradient.
    """
    if mode not in ("higher_order", "first_order"):
        raise OptionError(f"gradient: mode {mode!r}, expected 'higher_order' or 'first_order'")
    func = mod[expr] if isinstance(expr, GlobalVar) and mod is not None else expr
    if not isinstance(func, Function):
        raise OptionError(f"gradient of {expr!r}, expected a function")
    others = {} if mod is None else {name: each for name, each in mod.items() if isinstance(each, Function)}
    return gradient_of(func, others, target=0 if mode == "higher_order" else None)


def function_pass(
    pass_func: Any = None, opt_level: int = 0, name: str | None = None, required: Sequence[str] | None = None
) -> Any:
    """A pass from a function of a graph, the module and the context, that returns a graph. For a class with such a
    method `transform_function` a class of passes.
    """

    def on_module(transform: Transform) -> Transform:
        return lambda mod, ctx: on_graphs(lambda func: transform(func, mod, ctx), mod, is_normal=False)

    return define_pass(pass_func, "transform_function", on_module, (opt_level, name, required))


def build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Callable[[IRModule, PassInfo, bool], object] | None = None,
) -> PassContext:
    """The context of passes on graphs, as `PassContext` was called until v0.7."""
    return PassContext(opt_level, required_pass, disabled_pass, trace=trace)


def on_graphs(change: Callable[[Any], Any], mod: IRModule, is_normal: bool = True) -> IRModule:
    """A module whose graphs are changed. is_normal: whether `change` takes graphs in which each value is one node,
    instead of graphs as the user wrote them; programs without operations are as the user wrote them."""
    if not mod.has_operations:
        return _with_graphs(mod, {name: change(each) for name, each in mod.items() if isinstance(each, Function)})
    result = IRModule(mod.op.clone(), dict(mod.constants))
    result.type_definitions |= mod.type_definitions
    names = [name for name, op in mod.function_ops.items() if isinstance(op, FuncOp)]
    result.add_graphs({name: change(mod.normal_form(name) if is_normal else mod[name]) for name in names})
    return result
