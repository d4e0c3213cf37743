"""The module `tvm.relay.analysis`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from math import prod
from typing import Any

from ....core.errors import OptionError
from ....operators import Operator
from ...relay.adt import Constructor, DynamicCall, Match, Pattern
from ...relay.analysis import free_vars
from ...relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    Number,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from ...relay.functor import post_order, post_order_visit
from ...relay.inference import infer_types
from ...relay.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TensorType,
    TypeCall,
    TypeData,
    TypeKind,
    TypeRelation,
    TypeVar,
    type_parts,
    type_variables,
)
from ..absent import report_absent
from ..containers import leaves_of
from ..ir.families import Type
from ..ir.module import IRModule
from ..ir.module import IRModule as Module
from .call_graph import CallGraph
from .comparison import (
    alpha_equal,
    assert_alpha_equal,
    assert_graph_equal,
    graph_equal,
    structural_hash,
)
from .fake_quantization import operators_of_region
from .interpreter import Interpreter
from .normal_forms import shared_expression
from .regions import AnnotatedRegionSet
from .transform import FuseOps, SimplifyInference
from .unmatched import unmatched_patterns
from .weights import transposed_weight

__getattr__ = report_absent("tvm.relay.analysis")


def all_vars(expr: Expr) -> list[Var]:
    """The variables of an expression, parameters among them, in the order of their first use."""
    return [node for node in post_order(expr) if isinstance(node, Var)]


def well_formed(expr: Any) -> bool:
    """Whether each variable of an expression, or of the functions of a module, is bound once at most."""
    functions = (
        [each for _, each in expr.items() if isinstance(each, Function)] if isinstance(expr, IRModule) else [expr]
    )
    for function in functions:
        bound: set[Var] = set()
        for node in post_order(function):
            variables: list[Var] = []
            if isinstance(node, Function):
                variables = list(node.params)
            elif isinstance(node, Let):
                variables = [node.var]
            elif isinstance(node, Match):
                variables = [each for clause in node.clauses for each in clause.lhs.variables]
            if bound & set(variables) or len(set(variables)) < len(variables):
                return False
            bound |= set(variables)
    return True


def bound_vars(expr: Expr) -> list[Var]:
    """The variables of an expression that are parameters, or bound by a `Let`."""
    free = set(free_vars(expr))
    return [variable for variable in all_vars(expr) if variable not in free]


def free_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The free variables of types in a type, or in the annotations of an expression, in the order of their first use.

    mod: ignored; types refer to no module.
    """
    bound = set(bound_type_vars(expr))
    return [each for each in all_type_vars(expr) if each not in bound]


def all_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The variables of types in a type, or in the annotations of an expression, in the order of their first use.

    mod: ignored, as of `free_type_vars`.
    """
    if not isinstance(expr, Expr):
        return type_variables(expr)
    found: dict[TypeVar, None] = {}
    functions = [node for node in post_order(expr) if isinstance(node, Function)]
    found.update(dict.fromkeys(each for func in functions for each in func.type_params))
    for type in _annotations(expr):
        found.update(dict.fromkeys(type_variables(type)))
    return list(found)


def bound_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The variables of types that are parameters of functions, in the order of `all_type_vars`."""
    if not isinstance(expr, Expr):
        return type_variables(expr, only_bound=True)
    bound = {each for node in post_order(expr) if isinstance(node, Function) for each in node.type_params}
    for type in _annotations(expr):
        bound.update(type_variables(type, only_bound=True))
    return [each for each in all_type_vars(expr) if each in bound]


def _annotations(expr: Expr) -> list[Any]:
    """The types that the user wrote in an expression."""
    nodes = post_order(expr)
    written = [
        node.type_annotation if isinstance(node, Var) else getattr(node, "result_annotation", None) for node in nodes
    ]
    return [type for type in written if type is not None]


def check_kind(type: Any, mod: IRModule | None = None) -> TypeKind:
    """The kind of a type. OptionError for a type of another kind than its place expects.

    mod: the module with the data types of users.
    """
    for part, expected in _expected_kinds(type):
        kind = check_kind(part, mod)
        if kind != expected:
            raise OptionError(f"type {type}: {part} of kind {kind.name}, expected {expected.name}")
    match type:
        case TypeVar() | GlobalTypeVar() | IncompleteType():
            return TypeKind(type.kind)
        case TypeRelation():
            return TypeKind.Constraint
        case TypeData():
            return TypeKind.TypeData
        case TypeCall():
            data = None if mod is None else mod.type_definitions.get(type.func)
            if data is None or len(data.type_vars) != len(type.args):
                count = "no definition in the module" if data is None else f"{len(data.type_vars)} variables"
                raise OptionError(f"type {type} with {len(type.args)} arguments, which has {count}")
            return TypeKind.Type
        case _:
            return TypeKind.Type


def _expected_kinds(type: Any) -> list[tuple[Any, TypeKind]]:
    """The parts of a type, with the kinds that they must have."""
    match type:
        case FuncType():
            constraints = [(each, TypeKind.Constraint) for each in type.type_constraints]
            return [*((each, TypeKind.Type) for each in (*type.arg_types, type.ret_type)), *constraints]
        case TypeCall():
            return [(type.func, TypeKind.AdtHandle), *((each, TypeKind.Type) for each in type.args)]
        case TypeData():
            return [(type.header, TypeKind.AdtHandle), *((each, TypeKind.Type) for each in type.type_vars)]
        case _:
            return [(each, TypeKind.Type) for each in type_parts(type)]


def list_op_freqs(mod: Expr | IRModule) -> dict[str, int]:
    """The number of calls of each operator in an expression, or in the functions of a module, by its name."""
    counts: dict[str, int] = {}
    for expr in [each for _, each in mod.items()] if isinstance(mod, IRModule) else [mod]:
        for node in post_order(expr):
            if isinstance(getattr(node, "op", None), Operator):
                counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts


def count_layers(expr: Expr | IRModule, valid_ops: Sequence[str]) -> int:
    """The greatest number of calls of the operators `valid_ops` on a path from an input to the result of an expression,
    or of the function `main` of a module.
    """
    root = expr["main"] if isinstance(expr, IRModule) else expr
    depths: dict[Any, int] = {}
    for node in post_order(root):
        inside = [node.body] if isinstance(node, Function) else getattr(node, "children", ())
        name = getattr(getattr(node, "op", None), "name", None)
        depths[node] = max((depths[each] for each in inside if each in depths), default=0) + (name in valid_ops)
    return depths[root]


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns of all values that no clause of a match has a pattern for. mod: has the types of the constructors, by
    default none. OptionError for a constructor of another type."""
    return unmatched_patterns(match, {} if mod is None else mod.type_definitions)


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """The function `main` up to one of its calls, tuples and fields, of its free variables. expr_id: the position of
    this expression among them, in the order of computation.  OptionError for another position.
    """
    shown = [node for node in post_order(mod["main"]) if isinstance(node, Call | Tuple | TupleGetItem)]
    if not 0 <= expr_id < len(shown):
        raise OptionError(f"expression {expr_id} of {len(shown)}")
    return IRModule.from_expr(shown[expr_id])


def get_calibration_data(mod: IRModule, data: Mapping[str, Any]) -> dict[GlobalVar, dict[str, list[Any]]]:
    """The arrays that each function for another compiler takes and returns, as `{"inputs": [...], "outputs": [...]}`.
    The functions are those with the attribute `Compiler`, each called once in `main`.  data: the inputs of `main`.
    """
    calls = [
        node
        for node in post_order(mod["main"])
        if isinstance(node, FunctionCall) and isinstance(node.op, GlobalVar) and "Compiler" in mod[node.op].attrs
    ]
    functions = {name: each for name, each in mod.items() if isinstance(each, Function)}
    seen = Tuple([Tuple([*node.args, node]) for node in calls])
    functions["main"] = Function(mod["main"].params, seen)
    interpreter = Interpreter(functions)
    values = interpreter.function("main")(*(data[each.name_hint] for each in mod["main"].params))
    result: dict[GlobalVar, dict[str, list[Any]]] = {}
    for node, (*inputs, output) in zip(calls, values, strict=True):
        result[node.op] = {"inputs": inputs, "outputs": list(leaves_of([output]))}
    return result


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """The functions that `FuseOps` makes of the simplified graphs of a module, one for several that are structurally
    equal, by their structural hash."""
    fused = FuseOps(3)(SimplifyInference()(mod))
    nodes = [node for _, func in fused.items() for node in post_order(func)]
    kernels = [each for each in nodes if isinstance(each, Function) and "Primitive" in (each.attrs or {})]
    return {structural_hash(each): each for each in kernels}


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator between `qnn.dequantize` and `qnn.quantize`, by its name."""
    counts: dict[str, int] = {}
    for _, func in mod.items():
        for node in post_order(func):
            if getattr(getattr(node, "op", None), "name", None) == "qnn.quantize":
                names = operators_of_region(node)
                for name in names if "qnn.dequantize" in names else ():
                    counts[name] = counts.get(name, 0) + (name != "qnn.dequantize")
    return {name: count for name, count in counts.items() if count}


def get_total_mac_number(expr: Expr) -> int:
    """The number of products in the convolutions and the products of matrices of a typed expression: `nn.conv2d`,
    `nn.conv2d_transpose`, `nn.dense` and `nn.batch_matmul`. OptionError for sizes that are unknown.
    """
    return sum(
        _products(node) for node in post_order(expr) if getattr(getattr(node, "op", None), "name", "") in _PRODUCTS
    )


_PRODUCTS = ("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul")


def _products(node: Call) -> int:
    """The number of products of a call: those of an element of the result, for each of its elements."""
    result, weight = (prod(each.checked_type.concrete_shape) for each in (node, node.args[1]))
    attrs: Any = node.attrs
    sizes = node.args[1].checked_type.concrete_shape
    match node.op.name:
        case "nn.conv2d" | "nn.conv2d_transpose":
            return result * weight // sizes[attrs.kernel_layout.index("O")] // _groups_of_weight(node)
        case "nn.dense":
            return result * sizes[1]
        case _:
            return result * sizes[2 if attrs.transpose_b else 1]


def _groups_of_weight(node: Call) -> int:
    """The groups whose input channels a weight has: all of a transposed convolution, those of one group otherwise."""
    return node.attrs.groups if node.op.name == "nn.conv2d_transpose" else 1  # pyright: ignore[reportAttributeAccessIssue]


class Feature(IntEnum):
    """The kinds of nodes of graphs, with TVM's numbers."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


_FEATURES: tuple[tuple[Any, Feature], ...] = (
    (Function, Feature.fFunction),
    (Call, Feature.fCall),
    (Let, Feature.fLet),
    (Var, Feature.fVar),
    (GlobalVar, Feature.fGlobalVar),
    (If, Feature.fIf),
    (Tuple, Feature.fTuple),
    (TupleGetItem, Feature.fTupleGetItem),
    (Constant, Feature.fConstant),
    (Number, Feature.fConstant),
    (Operator, Feature.fOp),
    (RefCreate, Feature.fRefCreate),
    (RefRead, Feature.fRefRead),
    (RefWrite, Feature.fRefWrite),
    (Constructor, Feature.fConstructor),
    (Match, Feature.fMatch),
    (DynamicCall, Feature.fCall),
)


def detect_feature(expr: Expr | IRModule, mod: IRModule | None = None) -> set[Feature]:
    """The kinds of nodes in an expression, or in the graphs of a module: `fGraph` for an expression with several users,
    `fLetRec` for a function that is bound to a variable and calls itself by it.

    mod: a module whose graphs count, too.
    """
    roots = [func for each in (expr, mod) if isinstance(each, IRModule) for _, func in each.items()]
    roots += [expr] if isinstance(expr, Expr) else []
    found: set[Feature] = set()
    for root in roots:
        users: dict[Any, int] = {}
        for node in post_order(root):
            found.add(next(feature for kind, feature in _FEATURES if isinstance(node, kind)))
            found |= {Feature.fLetRec} if isinstance(node, Let) and node.var in free_vars(node.value) else set()
            for child in node.children if isinstance(node, Expr) else ():
                users[child] = users.get(child, 0) + 1
        shared = [each for each, count in users.items() if count > 1]
        computed = Call | Tuple | If | Function | Let
        found |= {Feature.fGraph} if any(isinstance(each, computed) for each in shared) else set()
    return found


def check_constant(expr: Expr) -> bool:
    """Whether an expression is a constant, or a tuple of constants."""
    return isinstance(expr, Constant) or (isinstance(expr, Tuple) and all(map(check_constant, expr.fields)))


def all_dtypes(expr: Expr) -> set[str]:
    """The data types of the tensors in an expression, those of its parameters among them. OptionError if the types do
    not follow from the annotations of the free variables."""
    infer_types({"main": expr if isinstance(expr, Function) else Function(free_vars(expr), expr)})
    nodes = [node for node in post_order(expr) if isinstance(node, Expr) and node.known_type is not None]
    return {dtype for node in nodes for dtype in _dtypes(node.checked_type)}


def _dtypes(type: Any) -> set[str]:
    own = {type.dtype} if isinstance(type, TensorType) else set[str]()
    return own.union(*map(_dtypes, type_parts(type)))


def search_fc_transpose(expr: Expr) -> list[str]:
    """The names of the variables of which `nn.dense` takes the transpose as its weight, in the order of computation."""
    return list(dict.fromkeys(each.name_hint for each in map(transposed_weight, post_order(expr)) if each is not None))


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Whether branches and functions share no expressions that are not bound to variables. OptionError with an
    expression that they share."""
    shared = shared_expression(expr)
    if shared is not None:
        raise OptionError(f"basic block normal form: {shared!r} is computed in several scopes, and bound in none")
    return True


__all__ = [
    "AnnotatedRegionSet",
    "CallGraph",
    "Feature",
    "Module",
    "Type",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "alpha_equal",
    "assert_alpha_equal",
    "assert_graph_equal",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "get_calibration_data",
    "get_total_mac_number",
    "graph_equal",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "post_order_visit",
    "search_fc_transpose",
    "structural_hash",
    "well_formed",
]
