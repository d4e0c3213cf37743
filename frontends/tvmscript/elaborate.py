"""Elaboration of modules and functions: from the syntax tree to the dialects `tir` and `relax`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import CallSiteLoc, DictionaryAttr, FileLineColLoc, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from ...core.collection import rare_collection
from ...core.diagnostics import BYTE_ORDER_MARK, SourceFile, Span
from ...core.dominance import undominated_use
from ...core.dtypes import mlir_type
from ...core.errors import ParseError, StepwellError, VerifyError
from ...core.target import Target
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.attributes import MODULE_ATTRS
from ...dialects.tir import (
    BlockOp,
    BufferOp,
    DeclBufferOp,
    FreePointerOp,
    FuncOp,
    HandleType,
    LetOp,
    MatchBufferOp,
    SymbolOp,
    rename_parameters,
)
from ...dialects.tir.tree import is_expression_op
from ...module import Module
from . import allocations, blocks, buffers, calls, host, operators, printing, pytime, syntax
from .annotations import annotated_type, evaluate_annotation, read_result_type
from .budget import Budget
from .context import ElaborationContext, ModuleState, call_notes, span_location
from .dispatch import evaluate, run_statements
from .loops import range_loops
from .macros import read_macro
from .quoting import sweep_templates
from .reader import read_module
from .values import (
    BufferSpec,
    FunctionNamespace,
    FunctionRef,
    Lazy,
    Macro,
    NameScope,
    TypeVariable,
    Value,
    Variable,
    VirtualDevice,
    Word,
    python_number,
    type_variables,
)
from .vocabulary import is_dtype, path_of, unknown_word, word

_READERS = (allocations, blocks, buffers, calls, host, operators, printing)  # their import registers words and calls

_NAMESPACES = {"T": "T", "I": "I", "R": "R", "tvm": "tvm", "tir": "T", "tirx": "T", "Tx": "Tx", "ir": "I", "relax": "R"}


def parse_tvmscript(
    text: str, filename: str = "<string>", extra_vars: Mapping[str, Any] | None = None, first_line: int = 1
) -> Module:
    """Parses TVMScript text, a class of functions or functions alone, into a module.

    Accepts the spellings of all TVM versions since v0.8. Statements beside the decorated definitions, like imports, are
    ignored, except that constants assigned there are visible. extra_vars: values of names that the text uses and does
    not define. first_line: the line of the text's first line in its file. Raises `ParseError`, with the source
    location, for text that is not a program or that uses an unsupported feature.
    """
    source = SourceFile(filename, text.removeprefix(BYTE_ORDER_MARK), first_line)
    with rare_collection():
        return elaborate(read_module(source), dict(extra_vars or {}))


def elaborate(tree: syntax.File, names: dict[str, Value]) -> Module:
    """The module of a syntax tree; `names` are values visible to the text."""
    reader = _ModuleReader(NameScope(captured_scope(names)), tree)
    try:
        return reader.read_file(tree)
    except RecursionError:  # the remaining stack depth depends on the caller
        raise tree.span.error("nested too deeply") from None


def captured_scope(names: Mapping[str, Value]) -> NameScope:
    """The outermost scope: the vocabularies, and the caller's values."""
    return NameScope(_builtin_scope(), {name: pytime.to_script_value(value) for name, value in names.items()})


def _builtin_scope() -> NameScope:
    bare = {name: Word("R", name) for name in _BARE_TYPES}
    spaces = {name: Word(space) for name, space in _NAMESPACES.items()}
    return NameScope(None, {**bare, **spaces, "range": Word("python", "range")})


_BARE_TYPES = ("Object", "Shape", "Tensor", "Tuple")
"""The types of values that programs of 2022 wrote without `R`."""


_OF_MODULE = (Word("I", "module_global_infos"), Word("I", "module_attrs"))
"""The words of statements of a module."""


_OF_PRINTER = ("keys", "mtriple", "tag", "thread_warp_size")
"""The entries of a printed target that TVM derives from its kind and from the machine."""


@word("vdevice")
def _virtual_device(
    context: ElaborationContext, span: Span, target: Value = None, vdevice_id: Value = 0, memory_scope: Value = "global"
) -> Value:
    number, scope = python_number(vdevice_id), context.string(memory_scope, span, "the memory scope")
    if isinstance(target, dict):
        options = cast("dict[str, Any]", target)
        target = {name: python_number(value) for name, value in options.items() if name not in _OF_PRINTER}
    if not isinstance(target, str | dict) or not isinstance(number, int) or number < 0:
        raise span.error('expected a target and a number, I.vdevice("cuda", 0)')
    try:
        return VirtualDevice(str(Target.from_value(cast("Any", target))), number, scope)
    except StepwellError as error:
        raise span.error(str(error)) from None


@word("module_global_infos")
def _global_infos(context: ElaborationContext, span: Span, infos: Value) -> Value:
    """The devices of the module, which are numbered within their kinds."""
    devices = cast("dict[str, Any]", infos).get("vdevice", []) if isinstance(infos, dict) else None
    if not isinstance(devices, list | tuple) or not all(isinstance(each, VirtualDevice) for each in devices):
        raise span.error('expected devices, I.module_global_infos({"vdevice": [I.vdevice("llvm")]})')
    if others := [name for name in cast("dict[str, Any]", infos) if name != "vdevice"]:
        raise span.error(f"global infos {', '.join(others)} are not supported, expected vdevice")
    context.module.devices[:] = cast("list[VirtualDevice]", devices)
    return None


@word("module_attrs")
def _module_attrs(context: ElaborationContext, span: Span, attrs: Value) -> Value:
    """The attributes of the module."""
    if not isinstance(attrs, dict):
        raise span.error('expected a dictionary, I.module_attrs({"param_num": 2})')
    context.module.attrs.update(context.attributes(attrs, span).data)
    return None


@word("range")
def _range(context: ElaborationContext, span: Span, *bounds: Value, annotations: Value = None) -> Value:
    return range_loops(context, span, *bounds, annotations=annotations)


class _ModuleReader:
    """Elaborates the definitions of a file."""

    def __init__(self, scope: NameScope, tree: syntax.File):
        self.scope = scope
        self.tree = tree
        self.source = tree.span.source
        self.state = ModuleState(Budget(tree.size))
        self.private: dict[str, bool] = {}
        self.unchecked: set[str] = set()
        self.relax: dict[str, dict[str, Value]] = {}
        self.started: set[str] = set()
        self.macros: dict[str, Macro] = {}
        self.checks: list[Callable[[], None]] = []

    def context(self, node: syntax.FunctionDef | None = None) -> ElaborationContext:
        return ElaborationContext(self.state, self.scope, self.tree if node is None else node)

    # ---- files and classes

    def read_file(self, tree: syntax.File) -> Module:
        self.state.is_current_dialect = _is_current_dialect(tree)
        functions: list[syntax.FunctionDef] = []
        classes: list[syntax.ClassDef] = []
        for statement in tree.body:
            match statement:
                case syntax.ClassDef() if self._is_module(statement):
                    classes.append(statement)
                case syntax.FunctionDef() if self._is_function(statement):
                    functions.append(statement)
                case _:
                    self._record_names(statement)
        if classes:
            return self._read_class(classes, functions)
        if not functions:
            raise self._no_definition_error(tree)
        self.scope.names.update({node.name: FunctionRef(node.name) for node in functions})
        return self._read_functions(functions, None)

    def _no_definition_error(self, tree: syntax.File) -> Exception:
        at = tree.body[0].span if tree.body else Span(self.source, 1, 1, 1, 1)
        return at.error("expected a function with @T.prim_func or @R.function, or a class with @I.ir_module")

    def _read_class(self, classes: list[syntax.ClassDef], functions: list[syntax.FunctionDef]) -> Module:
        node = classes[0]
        if len(classes) > 1 or functions:
            other = (classes[1:] or functions)[0]
            raise other.name_span.error(f"expected one module, got {node.name!r} and {other.name!r}")
        if node.bases:
            raise node.bases[0].span.error("a module has no bases")
        self.scope.names.update({node.name: FunctionNamespace(node.name), "cls": FunctionNamespace("cls")})
        methods: list[syntax.FunctionDef] = []
        self.macros = self.state.macros
        for statement in node.body:
            match statement:
                case syntax.FunctionDef() if self._is_function(statement):
                    methods.append(statement)
                case syntax.FunctionDef() if statement.name not in self.scope.names:
                    raise statement.name_span.error(
                        f"function {statement.name!r} needs the decorator @T.prim_func or @R.function"
                    )
                case syntax.ExprStmt(value=syntax.Call(func=word) as call) if self._word(word) in _OF_MODULE:
                    evaluate(self.context(), call)
                case syntax.ExprStmt(value=syntax.Call()):
                    raise statement.span.error("only functions and constants are supported in a module")
                case _:
                    self._record_names(statement)
        return self._read_functions(methods, node.name)

    def _read_functions(self, nodes: list[syntax.FunctionDef], name: str | None) -> Module:
        for node in nodes:
            if node.name in self.state.nodes:
                raise node.name_span.error(f"function {node.name!r} is defined twice")
            self.state.nodes[node.name] = node
        self.state.elaborate = self._elaborate
        for node in nodes:
            self._elaborate(node.name)
        local = [op for name, op in self.state.finished.items() if name not in self.state.nodes]
        op = ModuleOp([*(self.state.finished[node.name] for node in nodes), *local])
        if name is not None and name != "Module":
            op.sym_name = StringAttr(name)
        if devices := self.state.devices:
            # lazy: only programs of relax have devices, and importing the operators takes time
            from ...operators.relax.devices import state_devices

            state_devices(op, [each.target for each in devices], [each.scope for each in devices])
        if self.state.attrs:
            op.attributes[MODULE_ATTRS] = DictionaryAttr(self.state.attrs)
        _verify(op, [self.source, *self.state.sources])
        for check in self.checks:
            check()
        if self.state.has_call_sites:
            _strip_call_sites(op)
        return Module(op, self.state.constants)

    def _elaborate(self, name: str) -> None:
        """Elaborates a function, unless it is finished or under elaboration."""
        if name in self.started:
            return
        self.started.add(name)
        node = self.state.nodes[name]
        if name in self.relax:
            # lazy: the operators of graphs are needed for functions of relax only
            from .relax import RelaxContext, RelaxFunctionReader

            reader = RelaxFunctionReader(RelaxContext(self.state, self.scope, node), node, self.relax[name])
            self.checks.append(reader.check_devices)
        else:
            reader = _FunctionReader(self.context(node), node, self.private[name], name not in self.unchecked)
        self.state.finished[name] = reader.read()

    def _record_names(self, statement: syntax.Stmt) -> None:
        """Records the names that a statement other than a definition binds; their values are evaluated on first use."""
        match statement:
            case syntax.Import():
                self._import(statement)
            case syntax.Assign(
                targets=(syntax.Name(id=name),),
                value=syntax.Call(func=syntax.Name(id="TypeVar") | syntax.Attribute(attr="TypeVar")),
            ):
                self.scope.names[name] = TypeVariable()
            case syntax.Assign(targets=(syntax.Name(id=name),), value=value):
                self.scope.names[name] = Lazy(value, self.scope)
            case syntax.AnnAssign(target=syntax.Name(id=name), value=syntax.Expr() as value):
                self.scope.names[name] = Lazy(value, self.scope)
            case _:
                pass

    def _import(self, statement: syntax.Import) -> None:
        for name, path in statement.names:
            last = path.rpartition(".")[2]
            if last in _NAMESPACES:
                self.scope.names[name] = Word(_NAMESPACES[last])

    # ---- decorators

    def _decorator(self, node: syntax.Expr) -> tuple[str, dict[str, Value]]:
        """The path of a decorator's word and its arguments; an empty path for an unknown decorator."""
        arguments: dict[str, Value] = {}
        function = node.func if isinstance(node, syntax.Call) else node
        decorator_word = self._word(function)
        if decorator_word is None:
            return "", {}
        if isinstance(node, syntax.Call):
            for keyword in node.keywords:
                if keyword.name is None:
                    raise keyword.span.error("** is not supported here")
                arguments[keyword.name] = evaluate(self.context(), keyword.value)
        path = path_of(decorator_word)
        if decorator_word.namespace == "R" and path not in ("function", "rewriter"):
            raise function.span.error(f"{decorator_word} is not supported")
        if path in ("jit", "pyfunc"):
            raise unknown_word(decorator_word, function.span)
        return f"R.{path}" if decorator_word.namespace == "R" else path, arguments

    def _word(self, node: syntax.Expr) -> Word | None:
        match node:
            case syntax.Name(id=name):
                scope = self.scope.find(name)
                value = None if scope is None else scope.names[name]
                return value if isinstance(value, Word) else None
            case syntax.Attribute(value=value, attr=attr):
                base = self._word(value)
                return None if base is None else Word(base.namespace, f"{base.path}.{attr}".lstrip("."))
            case _:
                return None

    def _is_module(self, node: syntax.ClassDef) -> bool:
        """Whether `node` is a module; records whether its functions are checked, as a side effect."""
        for decorator in node.decorators:
            path, arguments = self._decorator(decorator)
            if path in ("ir_module", "R.rewriter"):
                if not arguments.get("check_well_formed", True):
                    self.unchecked.update(each.name for each in node.body if isinstance(each, syntax.FunctionDef))
                return True
        return False

    def _is_function(self, node: syntax.FunctionDef) -> bool:
        """Whether `node` is a function of the module; records its decorator, and a macro, as a side effect."""
        for decorator in node.decorators:
            path, arguments = self._decorator(decorator)
            if path == "prim_func":
                self.private[node.name] = _is_private(arguments, decorator.span)
                if not arguments.get("check_well_formed", True):
                    self.unchecked.add(node.name)
                return True
            if path == "R.function":
                # lazy: the operators of graphs are needed for functions of relax only
                from .relax import check_decorator

                check_decorator(arguments, decorator.span)
                self.relax[node.name] = arguments
                return True
            if path in ("macro", "inline"):
                self._read_macro(node)
        return False

    def _read_macro(self, node: syntax.FunctionDef) -> None:
        """Records a macro, whose scope has the names at its definition with their current values, and names defined
        later.
        """
        macro = read_macro(self.context(), node, NameScope(self.scope, dict(self.scope.names)))
        if macro is not None:
            self.scope.names[node.name] = self.macros[node.name] = macro


_CURRENT_HEADER = re.compile(r"^[ \t]*(?:#[ \t]*)?from tvm\.script import (?:.*\b)?tirx\b", re.MULTILINE)


def _is_current_dialect(tree: syntax.File) -> bool:
    """Whether a text is for TVM v0.24 or later, as indicated by its header, by T.sblock or by s_tir."""
    if _CURRENT_HEADER.search(tree.span.source.text):
        return True
    pending: list[syntax.Node] = [tree]
    while pending:
        match node := pending.pop():
            case syntax.Keyword(name="s_tir") | syntax.Attribute(attr="sblock" | "sblock_alloc_buffer" | "sblock_attr"):
                return True
            case _:
                pending.extend(node.children())
    return False


def _is_private(arguments: dict[str, Value], span: Span) -> bool:
    known = ("private", "check_well_formed", "s_tir", "is_stir", "persistent")
    for name in arguments:
        if name not in known:
            raise span.error(f"T.prim_func has no parameter {name!r}")
    if arguments.get("persistent"):
        raise span.error("T.prim_func(persistent=True) is not supported")
    return bool(arguments.get("private", False))


# ---- functions


class _FunctionReader:
    """Elaborates one function into a `tir.func`."""

    def __init__(self, context: ElaborationContext, node: syntax.FunctionDef, private: bool, is_checked: bool = True):
        self.context = context
        self.node = node
        self.private = private
        self.is_checked = is_checked

    def read(self) -> FuncOp:
        context, node = self.context, self.node
        self._declare_symbols()
        for param in node.params:
            self._read_param(param)
        if node.returns is not None:
            context.result_type = read_result_type(context, node.returns)
        with context.builder.at(context.block):
            run_statements(context, node.body)
        self._finish()
        return self._function()

    def _declare_symbols(self) -> None:
        """Declares the symbolic sizes that the signature may use: `n = TypeVar("n")` in an enclosing scope, type
        parameters, and `n = T.int32()` in the body.
        """
        context, names = self.context, self.context.scope.names
        for name in type_variables(context.scope):
            names.setdefault(name, Variable(mlir_type("int64"), self.node.name_span, name))
        for name in self.node.type_params:
            names[name] = Variable(mlir_type("int32"), self.node.name_span, name)
        for statement in self.node.body:
            match statement:
                case syntax.Assign(
                    targets=(syntax.Name(id=name),),
                    value=syntax.Call(
                        func=syntax.Attribute(value=syntax.Name(id=space), attr=attr), args=(), keywords=()
                    ),
                ) if self._is_vocabulary(space) and is_dtype(attr) and attr != "handle":
                    names.setdefault(name, Variable(context.type(attr, statement.span), statement.span, name))
                case _:
                    pass
        self._declare_sizes()

    def _declare_sizes(self) -> None:
        """Declares the integer parameters, which the shapes of earlier parameters may use as sizes."""
        for param in self.node.params:
            match param.annotation:
                case syntax.Attribute(value=syntax.Name(id=space), attr=attr) if (
                    self._is_vocabulary(space) and is_dtype(attr) and attr.startswith(("int", "uint"))
                ):
                    variable = Variable(self.context.type(attr, param.span), param.span, param.name)
                    self.context.scope.names[param.name] = variable
                case _:
                    pass

    def _is_vocabulary(self, name: str) -> bool:
        scope = self.context.scope.find(name)
        return scope is not None and scope.names[name] == Word("T")

    def _read_param(self, param: syntax.Param) -> None:
        if param.kind is not syntax.ParamKind.PLAIN or param.default is not None:
            raise param.span.error("a function takes plain parameters without defaults")
        if param.annotation is None:
            raise param.span.error(f"parameter {param.name!r} needs a type: T.handle, T.Buffer(...), T.int32, ...")
        value = evaluate_annotation(self.context, param.annotation)
        if isinstance(value, BufferSpec):
            self._read_buffer_param(param, value)
        else:
            arg = self._add_parameter(param.name, annotated_type(self.context, value, param.annotation.span))
            size = self.context.scope.names.get(param.name)
            if isinstance(size, Variable) and size.value is not None:
                self.context.replace_symbol(size, arg)
            self.context.scope.names[param.name] = arg

    def _add_parameter(self, name: str, type: Attribute) -> BlockArgument:
        arg = self.context.block.insert_arg(type, len(self.context.block.args))
        set_name_hint(arg, name)
        self.context.param_names.append(name)
        return arg

    def _read_buffer_param(self, param: syntax.Param, spec: BufferSpec) -> None:
        context, span = self.context, param.span
        if spec.data is not None:
            raise span.error("the buffer of a parameter has no data=")
        source = self._add_parameter(f"var_{param.name}", HandleType())
        buffer = buffers.match_param(context, span, source, spec, param.name)
        context.name_value(buffer.value, param.name)
        context.scope.names[param.name] = buffer

    # ---- the finished body

    def _finish(self) -> None:
        self._turn_handles_into_buffers()
        self._unwrap_root()
        sweep_templates(self.context, self.context.block)
        _sweep(self.context.block.ops)
        _sweep_free_buffers(self.context.block)
        self._check_symbols()

    def _turn_handles_into_buffers(self) -> None:
        """Replaces each handle parameter used only by one match_buffer with a buffer parameter, if the buffer's type
        describes it fully.
        """
        context = self.context
        for op in list(context.block.ops):
            if not isinstance(op, MatchBufferOp) or not op.is_parameter:
                continue
            source = cast(BlockArgument, op.source)
            self._rename_parameter(source.index, op.buffer_name.data)
            new = _replace_param(context, source.index, op.type)
            op.buffer.replace_all_uses_with(new)
            op.detach()
            op.erase()
            context.block.erase_arg(source)

    def _rename_parameter(self, index: int, name: str) -> None:
        context = self.context
        names = {context.param_names[index]: name}
        attrs = context.function_attrs or {}
        context.function_attrs = {key: rename_parameters(value, names) for key, value in attrs.items()}
        context.param_names[index] = name

    def _unwrap_root(self) -> None:
        """Inlines an explicit block called root around the whole body: every function has an implicit root block."""
        declarations = (SymbolOp, MatchBufferOp)
        ops = self.context.block.ops
        match [op for op in ops if not isinstance(op, declarations) and not is_expression_op(op)]:
            case [BlockOp() as root] if root.block_name.data == "root" and not root.axes and root.annotations is None:
                if root.predicate is not None or root.init is not None:
                    return
                for access in root.accesses:
                    access.detach()
                    access.erase()
                for op in list(root.body.block.ops):
                    op.detach()
                    self.context.block.insert_op_before(op, root)
                root.detach()
                root.erase()
            case _:
                pass

    def _check_symbols(self) -> None:
        for op, variable in self.context.symbols:
            users = [use.operation for use in op.result.uses]
            if not users:
                op.detach()
                op.erase()
            elif self.is_checked and not any(isinstance(user, BufferOp) for user in users):
                raise variable.span.error(
                    f"variable {variable.name!r} never gets a value: no buffer has it as an extent"
                )

    def _function(self) -> FuncOp:
        context, node = self.context, self.node
        attrs = context.function_attrs or {}
        if attrs.get("global_symbol") == StringAttr(node.name):
            attrs = {key: value for key, value in attrs.items() if key != "global_symbol"}
        params = [(name, arg.type) for name, arg in zip(context.param_names, context.block.args, strict=True)]
        op = FuncOp(
            node.name,
            params,
            attrs=attrs,
            private=self.private,
            result_type=context.result_type,
            body=Region(context.block),
        )
        op.location = span_location(node.name_span)
        return op


def _replace_param(context: ElaborationContext, index: int, type: Any) -> BlockArgument:
    """Inserts a new parameter before parameter `index`, with the same name; the caller removes the old parameter."""
    new = context.block.insert_arg(type, index)
    set_name_hint(new, context.param_names[index])
    return new


def _sweep(ops: Any) -> None:
    """Removes unused expressions, which were needed at parse time only."""
    for op in reversed(list(ops)):
        for region in op.regions:
            for block in region.blocks:
                _sweep(block.ops)
        if isinstance(op, LetOp) or not op.results or any(result.uses for result in op.results):
            continue
        if is_side_effect_free(op):
            op.detach()
            op.erase()


def _sweep_free_buffers(block: Block) -> None:
    """Removes unused buffers without memory, such as those that `T.realize` has provided with memory."""
    for pointer in list(find_ops(block, FreePointerOp)):
        users = [use.operation for use in pointer.pointer.uses]
        if all(isinstance(user, DeclBufferOp) and not user.buffer.uses for user in users):
            for op in (*users, pointer):
                op.detach()
                op.erase()


# ---- verification


def _verify(module: ModuleOp, sources: Sequence[SourceFile]) -> None:
    """Verifies all ops; a verification error becomes a diagnostic at the line of the op."""
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except (VerifyException, VerifyError) as error:
            raise _error_at(op, sources, _first_line(op, error)) from None
    for function in module.ops:
        use = undominated_use(function)
        if use is not None:
            raise _error_at(use[0], sources, use[1])


def _error_at(op: Operation, sources: Sequence[SourceFile], message: str) -> ParseError:
    """The error at the source location of an op, with notes for the macro calls that emitted it."""
    where: Operation | None = op
    while where is not None and not isinstance(where.location, FileLineColLoc | CallSiteLoc):
        where = where.parent_op()
    first, *calls = _spans_of(where.location, sources) if where is not None else [Span(sources[0], 1, 1, 1, 1)]
    return first.error(message).with_notes(call_notes([("a macro", call) for call in calls]))


def _spans_of(location: Attribute, sources: Sequence[SourceFile]) -> list[Span]:
    """The span of an op, followed by its call sites."""
    match location:
        case CallSiteLoc(callee=callee, caller=caller):
            return [*_spans_of(callee, sources), *_spans_of(caller, sources)]
        case FileLineColLoc(filename=file, line=at, column=column):
            source = next((s for s in sources if s.name == file.data and s.contains_line(at.data)), sources[0])
            line = at.data - source.first_line + 1
            start = max(1, column.data - source.indent)
            return [Span(source, line, start, line, start + 1)]
        case _:
            return []


def _strip_call_sites(module: ModuleOp) -> None:
    """Reduces the locations of ops from macros to their locations in the macros, for all later stages."""
    for op in module.walk():
        if isinstance(op.location, CallSiteLoc):
            op.location = cast(LocationAttr, op.location.callee)


def _first_line(op: Operation, error: Exception) -> str:
    cause = error.__cause__ or error
    text = str(cause).strip().splitlines()
    return text[-1] if text else f"{op.name} is invalid"
