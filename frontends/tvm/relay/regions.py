"""Regions of other compilers in graphs: `AnnotateTarget`, `MergeCompilerRegions`, `relay.analysis.AnnotatedRegionSet`.

A region is the part of a graph between marks (`relay.annotation`): its inputs are `compiler_begin`, its outputs are
`compiler_end` of one compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.errors import OptionError
from ....operators import Operator
from ...relay.annotation import BEGIN, DEFAULT, END, compiler_begin, compiler_end, is_mark
from ...relay.expr import Call, Expr, Function, FunctionCall, If, Let, Tuple, TupleGetItem, Var, operator_name
from ...relay.functor import ExprMutator, TypedMutator, post_order_visit
from ..intrinsics import operator_attributes

# Regions


class AnnotatedRegion:
    """A region of a graph. id: its number.  target: its compiler.  nodes: its expressions, with the marks.  args: its
    inputs.  rets: its outputs."""

    def __init__(self, id: int, target: str):
        self.id = id
        self.target = target
        self.nodes: dict[Expr, None] = {}
        self.args: list[Call] = []
        self.rets: list[Call] = []


class AnnotatedRegionSet:
    """The regions of a graph, in the order of their first inputs.

    expr: the graph.  region_begin_op, region_end_op: the operators of marks, which are `compiler_begin` and
    `compiler_end`. OptionError for other marks, for an end without a begin, and for an end of another compiler.
    """

    def __init__(self, expr: Expr, region_begin_op: Operator = BEGIN, region_end_op: Operator = END):
        if (region_begin_op, region_end_op) != (BEGIN, END):
            marks = f"{region_begin_op.name} and {region_end_op.name}"
            raise OptionError(f"regions between {marks}, expected {BEGIN.name} and {END.name}")
        self.of: dict[Expr, AnnotatedRegion] = {}
        self._count = 0
        post_order_visit(expr, self._add)

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def regions(self) -> list[AnnotatedRegion]:
        """The regions, in the order of their first inputs."""
        return list(dict.fromkeys(self.of.values()))

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        """The region of an expression, None outside of regions."""
        return self.of.get(expr)

    def _add(self, node: Any) -> None:
        if is_mark(node, BEGIN):
            region = AnnotatedRegion(self._count, node.attrs.compiler)
            self._count += 1
            region.args.append(node)
            self._put(node, region)
        elif is_mark(node, END):
            region = self.of.get(node.args[0])
            if region is None or region.target != node.attrs.compiler:
                other = "no region" if region is None else f"a region of {region.target}"
                raise OptionError(f"{node!r} ends {other}, expected a region of {node.attrs.compiler}")
            region.rets.append(node)
            self._put(node, region)
        elif isinstance(node, Call | Tuple | TupleGetItem):
            parts = node.args if isinstance(node, Call) else node.children
            inner = [self.of[each] for each in parts if each in self.of and not is_mark(each, END)]
            if inner:
                for each in inner[1:]:
                    self.merge(each, inner[0])
                self._put(node, inner[0])

    def _put(self, node: Expr, region: AnnotatedRegion) -> None:
        region.nodes[node] = None
        self.of[node] = region

    def merge(self, source: AnnotatedRegion, into: AnnotatedRegion) -> None:
        """Makes a region part of another one. The marks between both are neither inputs nor outputs then."""
        if source is into:
            return
        for node in source.nodes:
            self._put(node, into)
        into.args += source.args
        into.rets += source.rets
        inner = [each for each in into.args if each.args[0] in source.nodes]
        ended = {each.args[0] for each in inner}
        into.args = [each for each in into.args if each not in inner]
        into.rets = [each for each in into.rets if each not in ended]


# Annotation


def annotate_targets(func: Function, targets: Sequence[str], includes_others: bool) -> Function:
    """A graph with marks around each operator that a compiler computes, and around all others those of this compiler.

    targets: the compilers, the preferred ones first.  includes_others: whether tuples, their fields and calls of
    variables are marked too.
    """
    return _Annotation(targets, includes_others).visit(func)


class _Annotation(TypedMutator):
    """compilers: those of the expressions that are rebuilt."""

    def __init__(self, targets: Sequence[str], includes_others: bool):
        super().__init__()
        self.targets = targets
        self.includes_others = includes_others
        self.compilers: dict[Expr, str] = {}

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if is_mark(call):
            if is_mark(call, END):
                self.compilers.setdefault(new.args[0], call.attrs["compiler"])
            return new
        first = call.args[0] if call.args else None
        if is_mark(first, BEGIN) and first.attrs["compiler"] != DEFAULT:  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
            return new
        if isinstance(call.op, Var) and not self.includes_others:
            return FunctionCall(new.op, [self._ended(each) for each in new.args], new.attrs)
        compiler = next((each for each in self.targets if _computes(each, call)), DEFAULT)
        _, args = self._begun(new.args, compiler)
        result = new.with_args(args)
        self.compilers[result] = compiler
        return result

    def visit_tuple(self, tup: Tuple) -> Expr:
        new = [self.visit(field) for field in tup.fields]
        return self._rebuilt(Tuple, new)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        return self._rebuilt(lambda parts: TupleGetItem(parts[0], op.index), [self.visit(op.tuple_value)])

    def _rebuilt(self, build: Any, parts: Sequence[Expr]) -> Expr:
        """An expression of parts, with marks around each."""
        if not self.includes_others:
            return build([self._ended(each) for each in parts])
        compiler, parts = self._begun(parts, None)
        result = build(parts)
        self.compilers[result] = compiler
        return result

    def visit_function(self, fn: Function) -> Expr:
        if "Composite" in fn.attrs:
            return fn
        new = super().visit_function(fn)
        assert isinstance(new, Function)
        return Function(new.params, self._ended(new.body), new.result_annotation, new.type_params, new.attrs)

    def visit_let(self, let: Let) -> Expr:
        value, body = self.visit(let.value), self._ended(self.visit(let.body))
        return Let(let.var, value if isinstance(let.value, Function) else self._begun([value], None)[1][0], body)

    def visit_if(self, if_: If) -> Expr:
        return If(*(self._ended(self.visit(each)) for each in if_.children))

    def _ended(self, expr: Expr) -> Expr:
        """The mark of the end of a region after its last expression; another expression stays."""
        if is_mark(expr, END) and expr.attrs["compiler"] == DEFAULT:  # pyright: ignore[reportAttributeAccessIssue]
            expr = expr.children[0]
        if expr not in self.compilers or not _is_computed(expr):
            return expr
        return self._marked(compiler_end, expr, self.compilers[expr])

    def _begun(self, args: Sequence[Expr], compiler: str | None) -> tuple[str, list[Expr]]:
        """The compiler of an expression, and its parts with marks. compiler: None for that of all parts."""
        marked: list[Expr] = []
        ends: list[tuple[int, Expr]] = []
        found: dict[str, None] = {}
        for n, arg in enumerate(args):
            of_arg = DEFAULT
            if is_mark(arg, BEGIN):
                assert isinstance(arg, Call)
                inner = arg.args[0]
                if arg.attrs["compiler"] == DEFAULT:
                    ends.append((n, inner))
                else:
                    marked.append(arg)
                if is_mark(inner, END):
                    of_arg = inner.attrs["compiler"]  # pyright: ignore[reportAttributeAccessIssue]
            elif arg in self.compilers:
                of_arg = self.compilers[arg]
                is_source = isinstance(arg, Call) and not arg.args
                ends.append((n, arg if is_source else self._marked(compiler_end, arg, of_arg)))
            else:
                ends.append((n, arg))
            found[of_arg] = None
        own = compiler or (next(iter(found)) if len(found) == 1 else DEFAULT)
        return own, [*marked, *(self._marked(compiler_begin, each, own) for _, each in ends)]

    def _marked(self, mark: Any, expr: Expr, compiler: str) -> Expr:
        new = mark(expr, compiler)
        new.known_type = expr.known_type
        if mark is compiler_end:
            self.compilers[new] = compiler
        return new


def _computes(compiler: str, call: Call) -> bool:
    """Whether a compiler computes a call: as `register_op_attr` says of operators, and composite functions that have
    its name."""
    if isinstance(call.op, Function):
        return str(call.op.attrs.get("Composite", "")).partition(".")[0] == compiler
    rule = operator_attributes(f"target.{compiler}").get(operator_name(call) or "")
    return rule is not None and bool(rule(call))


def _is_computed(expr: Expr) -> bool:
    if isinstance(expr, Call):
        return bool(expr.args) and not is_mark(expr)
    return isinstance(expr, TupleGetItem) or (isinstance(expr, Tuple) and bool(expr.fields))


# Merging


def merge_regions(func: Function) -> Function:
    """A graph in which regions of one compiler are one region, unless another region lies between them."""
    merging = _Merging(AnnotatedRegionSet(func))
    merging.visit(func)
    return _InnerMarks(merging.regions).visit(func)


class _Merging:
    """after: the regions that a region depends on across another compiler, which stay apart."""

    def __init__(self, regions: AnnotatedRegionSet):
        self.regions = regions
        self.after: dict[AnnotatedRegion, dict[AnnotatedRegion, None]] = {each: {} for each in regions.regions}
        self.done: set[AnnotatedRegion] = set()

    def visit(self, root: Expr) -> None:
        """Merges the regions below an expression, those of operands first."""
        post_order_visit(root, self._end)

    def _end(self, node: Any) -> None:
        if not is_mark(node, END):
            return
        region = self.regions.of[node]
        if region in self.done:
            return
        self.done.add(region)
        for begin in region.args:
            before = self.regions.get_region(begin.args[0])
            if before is not None and before not in self.done:
                self.visit(begin.args[0])
        before = {found: None for begin in region.args if (found := self.regions.get_region(begin.args[0]))}
        branches = [each for begin in region.args for each in self._of_branches(begin.args[0])]
        for each in (*before, *branches):
            self.after[region] |= self.after[each]
        for each in before:
            if each.target != region.target:
                self.after[region][each] = None
            elif each not in self.after[region]:
                self._merge(each, region)

    def _of_branches(self, node: Expr) -> list[AnnotatedRegion]:
        """The regions of the condition and the branches of a conditional expression."""
        if not isinstance(node, If):
            return []
        found = [(each, self.regions.get_region(each)) for each in node.children]
        inner = [[region] if region is not None else self._of_branches(each) for each, region in found]
        return [each for regions in inner for each in regions]

    def _merge(self, source: AnnotatedRegion, into: AnnotatedRegion) -> None:
        self.regions.merge(source, into)
        for others in self.after.values():
            if source in others:
                del others[source]
                others[into] = None


class _InnerMarks(ExprMutator):
    """Removes the marks between the parts of one region."""

    def __init__(self, regions: AnnotatedRegionSet):
        super().__init__()
        self.regions = regions

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        if is_mark(call, BEGIN) and is_mark(call.args[0], END):
            if self.regions.get_region(call) is self.regions.get_region(call.args[0]):
                return new.children[0].children[0]
        return new
