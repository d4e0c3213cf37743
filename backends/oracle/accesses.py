"""Python text for accesses to elements of buffers: addresses, and the checks before them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ...core.dtypes import DType, numpy_dtype
from ...dialects.tir import LoadOp, Mixed, StoreOp
from .expressions import PRODUCT, SUM, PythonExpr, infix
from .numerics import short_name
from .ranges import Interval, OpIntervals
from .writer import PythonWriter


@dataclass(frozen=True)
class PythonBuffer:
    """A buffer in generated code.

    data, memory: Python names of the elements of its memory, and of the memory.  shape, strides, offset:
    in elements. extents: the shape in the IR.  written, writers: names of the memory's records, None if
    no check needs the record. entries: of the record, per element.  length: name of the number of
    elements of the memory, where an index within the shape may still be outside the memory.  source,
    mins: for a subregion, the buffer and the lower bounds of the region.
    """

    name: str
    dtype: DType
    data: str
    memory: str
    shape: Sequence[PythonExpr]
    strides: Sequence[PythonExpr]
    offset: PythonExpr
    extents: Sequence[Mixed]
    written: str | None = None
    writers: str | None = None
    entries: int = 1
    length: str | None = None
    constant: bool = False
    source: PythonBuffer | None = None
    mins: Sequence[Mixed] = ()
    min_exprs: Sequence[PythonExpr] = ()

    @property
    def itemsize(self) -> int:
        return numpy_dtype(self.dtype).itemsize

    def view(self) -> PythonExpr:
        """The buffer as an argument of a call."""
        shape, strides = (_tuple(self.shape), _tuple(self.strides))
        return PythonExpr(f'View({self.memory}, "{self.dtype.name}", {shape}, {strides}, {self.offset.text})')


def _tuple(exprs: Sequence[PythonExpr]) -> str:
    return f"({''.join(f'{e.text}, ' for e in exprs)})".replace(", )", ")" if len(exprs) > 1 else ",)")


def as_tuple(exprs: Sequence[PythonExpr]) -> PythonExpr:
    """A Python tuple of the values."""
    return PythonExpr(_tuple(exprs))


def add_text(a: PythonExpr, b: PythonExpr) -> PythonExpr:
    if a.text == "0":
        return b
    return a if b.text == "0" else infix(a, "+", b, SUM)


def multiply_text(a: PythonExpr, b: PythonExpr) -> PythonExpr:
    if "0" in (a.text, b.text):
        return PythonExpr("0")
    if a.text == "1":
        return b
    if b.text == "1":
        return a
    if a.text.isdigit() and b.text.isdigit():
        return PythonExpr(str(int(a.text) * int(b.text)))
    return infix(a, "*", b, PRODUCT)


def compact_row_major(shape: Sequence[PythonExpr]) -> list[PythonExpr]:
    """The strides of a compact row-major buffer."""
    strides = [PythonExpr("1")]
    for extent in reversed(shape[1:]):
        strides.insert(0, multiply_text(extent, strides[0]))
    return strides[: len(shape)]


def element_address(buffer: PythonBuffer, index: Sequence[PythonExpr]) -> PythonExpr:
    """The position of an element in its memory."""
    result = PythonExpr("0")
    for i, stride in zip(index, buffer.strides, strict=True):
        result = add_text(result, multiply_text(stride, i))
    return add_text(result, buffer.offset)


@dataclass(frozen=True)
class _Index:
    """An index of an access: its text, its interval, and an exclusive upper bound."""

    expr: PythonExpr
    interval: Interval
    below: SSAValue | None = None

    def is_in(self, extent: Mixed) -> bool:
        """Whether the index is known to lie in [0, extent)."""
        if isinstance(extent, int):
            return 0 <= self.interval[0] and self.interval[1] < extent
        return self.below is extent


class AccessWriter:
    """Emits loads and stores. check: emit checks for excluded behaviour.  strand: the text of the current strand, None
    outside of concurrent loops.  team: the strand that all threads of a block share, None outside of loops over
    threads. joint: the strands of memories that the threads reduce to jointly.  threads: the numbers of the enclosing
    loops over threads, which may write one value jointly.
    """

    def __init__(self, writer: PythonWriter, ranges: OpIntervals, check: bool):
        self.writer, self.ranges, self.check = writer, ranges, check
        self.strand: str | None = None
        self.team: str | None = None
        self.joint: dict[str, str] = {}
        self.threads: list[int] = []

    def load(self, op: LoadOp, buffer: PythonBuffer) -> None:
        hint = buffer.name.lower() if buffer.name.lower() != buffer.name else f"{buffer.name}_value"
        if not isinstance(op.result.type, VectorType):
            index = [self._index(i) for i in op.indices]
            self.writer.bind(op.result, self._element(buffer, index), hint)
            return
        w = self.writer
        result = w.fresh_name(hint)
        w.line(f"{result} = []")
        zero = "0.0" if buffer.dtype.is_float else "False" if buffer.dtype.is_bool else "0"
        with self._lanes(op) as (index, _):
            if op.predicate is not None:
                with w.block("if not on:"):
                    w.line(f"{result}.append({zero})")
                    w.line("continue")
            w.line(f"{result}.append({self._element(buffer, index).text})")
        w.set(op.result, PythonExpr(result))

    def store(self, op: StoreOp, buffer: PythonBuffer) -> None:
        w = self.writer
        if not isinstance(op.value.type, VectorType):
            index = [self._index(i) for i in op.indices]
            self._assign(buffer, index, w.value(op.value))
            return
        with self._lanes(op, w.value(op.value)) as (index, element):
            if op.predicate is not None:
                with w.block("if not on:"):
                    w.line("continue")
            self._assign(buffer, index, PythonExpr(element))

    @contextmanager
    def _lanes(self, op: LoadOp | StoreOp, values: PythonExpr | None = None) -> Generator[tuple[list[_Index], str]]:
        """Emits a loop over the lanes of a vector access; yields the index of the lane and the name of its value."""
        w = self.writer
        element = w.fresh_name("element")
        index, columns = list[_Index](), dict[str, str]()
        for value in op.indices:
            index.append(self._index(value))
            if isinstance(value.type, VectorType):
                lane = w.fresh_name("lane")
                columns[lane] = index[-1].expr.text
                index[-1] = replace(index[-1], expr=PythonExpr(lane))
        if values is not None:
            columns[element] = values.text
        if op.predicate is not None:
            columns["on"] = w.value(op.predicate).text
        rows = ", ".join(columns.values())
        with w.loop(f"for {', '.join(columns)} in {rows if len(columns) == 1 else f'zip({rows})'}:"):
            yield index, element

    def _index(self, value: SSAValue) -> _Index:
        return _Index(self.writer.value(value), self.ranges.interval_of(value), self.ranges.upper_bound(value))

    def _element(self, buffer: PythonBuffer, index: list[_Index]) -> PythonExpr:
        """The value of an element; its checks are emitted before."""
        at, exprs = self._check_access(buffer, index)
        if self.check:
            if buffer.written is not None:
                covered = _span(buffer.written, at, buffer.entries)
                missing = f"not {covered}" if buffer.entries == 1 else f"0 in {covered}"
                with self.writer.block(f"if {missing}:"):
                    self.writer.line(f"uninitialized({buffer.name!r}, {_tuple(exprs)})")
            self._record(buffer, at, exprs, "read")
        text = f"{buffer.data}[{at.text}]"
        short = short_name(buffer.dtype.name)
        return PythonExpr(text if short is None else f"{short.upper()}[{text}]")

    def _assign(self, buffer: PythonBuffer, index: list[_Index], value: PythonExpr) -> None:
        w = self.writer
        at, exprs = self._check_access(buffer, index)
        exact = value.unrounded or value
        short = short_name(buffer.dtype.name)
        new = exact if short is None else PythonExpr(f"{short}_bits({exact.text})")
        if self.check:
            if buffer.constant:
                w.line(f"write_to_constant({buffer.name!r})")
                return
            if self.threads and self.strand is not None and buffer.writers is not None:
                new = w.as_simple(new, "new")
                agreeing = f"{tuple(self.threads)} if is_same({buffer.data}[{at.text}], {new.text}) else ()"
                self._record(buffer, at, exprs, "write", f", agreeing={agreeing}")
            else:
                self._record(buffer, at, exprs, "write")
        w.line(f"{buffer.data}[{at.text}] = {new.text}")
        if self.check and buffer.written is not None:
            ones = "1" if buffer.entries == 1 else repr(b"\1" * buffer.entries)
            w.line(f"{_span(buffer.written, at, buffer.entries)} = {ones}")

    def _record(
        self, buffer: PythonBuffer, at: PythonExpr, exprs: Sequence[PythonExpr], verb: str, more: str = ""
    ) -> None:
        if buffer.writers is None or self.strand is None:
            return
        what = f"{buffer.name!r}, {_tuple(exprs)}"
        strand = self.joint.get(buffer.memory, self.strand)
        if buffer.entries == 1:
            call = f"run.races.{verb}({buffer.memory}, {at.text}, {strand}, {what}{more})"
            with self.writer.block(f"if {buffer.writers}[{at.text}] != {strand}:"):
                self.writer.line(call)
        else:
            start = multiply_text(PythonExpr(str(buffer.entries)), at).text
            call = f"run.races.{verb}({buffer.memory}, {start}, {strand}, {what}, {buffer.entries}{more})"
            self.writer.line(call)

    def _check_access(self, buffer: PythonBuffer, index: list[_Index]) -> tuple[PythonExpr, list[PythonExpr]]:
        """The address of an element, and its indices; bounds checks are emitted before."""
        if not self.check:
            exprs = [i.expr for i in index]
            return element_address(buffer, exprs), exprs
        index = [replace(i, expr=self.writer.as_simple(i.expr, "i")) for i in index]
        self._check_bounds(buffer, index)
        exprs = [i.expr for i in index]
        at = element_address(buffer, exprs)
        if buffer.written is not None or buffer.writers is not None or buffer.length is not None:
            at = self.writer.as_simple(at, "k")
        if buffer.length is not None:
            self._guard(buffer, exprs, [f"0 <= {at.text} < {buffer.length}"])
        return at, exprs

    def _check_bounds(self, buffer: PythonBuffer, index: list[_Index]) -> None:
        conditions = [
            f"0 <= {i.expr.text} < {extent.text}"
            for i, extent, mixed in zip(index, buffer.shape, buffer.extents, strict=True)
            if not i.is_in(mixed)
        ]
        self._guard(buffer, [i.expr for i in index], conditions)
        if buffer.source is not None:
            self._check_bounds(buffer.source, self._source_index(buffer, index))

    def _source_index(self, buffer: PythonBuffer, index: list[_Index]) -> list[_Index]:
        """The index into the buffer that `buffer` is a region of; leading dimensions of extent 1 may be missing."""
        missing = len(buffer.mins) - len(index)
        result: list[_Index] = []
        for d, (low, expr) in enumerate(zip(buffer.mins, buffer.min_exprs, strict=True)):
            own = index[d - missing] if d >= missing else _Index(PythonExpr("0"), (0, 0))
            interval = self.ranges.interval_of(low)
            total = interval[0] + own.interval[0], interval[1] + own.interval[1]
            below = own.below if low == 0 else self.ranges.upper_bound(low) if own.interval == (0, 0) else None
            result.append(_Index(self.writer.as_simple(add_text(expr, own.expr), "i"), total, below))
        return result

    def _guard(self, buffer: PythonBuffer, exprs: Sequence[PythonExpr], conditions: Sequence[str]) -> None:
        if not conditions:
            return
        text = conditions[0] if len(conditions) == 1 else f"({' and '.join(conditions)})"
        with self.writer.block(f"if not {text}:"):
            self.writer.line(f"out_of_bounds({buffer.name!r}, {_tuple(exprs)}, {_tuple(buffer.shape)})")


def _span(record: str, at: PythonExpr, entries: int) -> str:
    """The entries of a record for the element at an address."""
    if entries == 1:
        return f"{record}[{at.text}]"
    start = multiply_text(PythonExpr(str(entries)), at)
    return f"{record}[{start.text} : {add_text(start, PythonExpr(str(entries))).text}]"
