"""Compilation of a program in parts, by several processes or by this one, whose threads run LLVM meanwhile."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from ...core.collection import rare_collection
from ...core.processes import shared_results
from ...core.processors import available_processors, compile_jobs
from ...core.remarks import Remark, collect_apart, report_again
from ...transforms.pipelines import Options, Part, import_passes, lower_part
from ..runtime import Program
from .compile import native_code, texts_of
from .emitter import Facts, emit_interface, emit_part
from .engine import ObjectCode, Processor
from .linking import link_code
from .remarks import report_stack_buffers

_PARTS_OF_PROCESS = 2
"""The number of parts, at least, for each process that takes part: a process costs some 10 ms."""
_MOST_PROCESSES = 16


@dataclass(frozen=True)
class _PartCode:
    """A compiled part. text: its LLVM IR.  remarks: the decisions of its passes."""

    facts: Facts
    text: str
    code: ObjectCode
    remarks: Counter[Remark]


def compile_parts(
    parts: Sequence[Part],
    options: Options,
    target: Processor,
    *,
    symbols: Mapping[str, int] | None = None,
    callables: bool = True,
) -> Program:
    """Compiles the parts of a program, which are lowered in place, to native code. The result depends neither on the
    number of processes nor on the parts that each compiles.

    options: of the lowering.  Other arguments and errors: as of `compile_module`.
    """
    processes = min(compile_jobs(), _MOST_PROCESSES, len(parts) // _PARTS_OF_PROCESS)
    work = _Work(parts, options, target, callables, max(1, available_processors() // max(1, processes)))
    heaviest_first = sorted(range(len(parts)), key=lambda number: -parts[number].weight)
    import_passes(parts, options)
    compiled = shared_results(work, heaviest_first, processes)
    for each in compiled:
        report_again(each.remarks)
    interface = emit_interface([each.facts for each in compiled], parts[0].order)
    code = ObjectCode.join_all([ObjectCode.of([interface.text], target), *(each.code for each in compiled)])
    text = "\n".join([interface.text, *(each.text for each in compiled)])
    return link_code(native_code(interface.facts, code), symbols=symbols, sources=texts_of(lambda: text, code))


@dataclass(frozen=True)
class _Work:
    """The lowering and compilation of the parts with some numbers, in one process. threads: those that run LLVM."""

    parts: Sequence[Part]
    options: Options
    target: Processor
    callables: bool
    threads: int

    def __call__(self, numbers: Iterable[int]) -> Iterator[tuple[int, _PartCode]]:
        with ThreadPoolExecutor(self.threads) as threads, rare_collection():
            started: deque[tuple[int, Callable[[], _PartCode]]] = deque()
            try:
                for number in numbers:
                    started.append((number, self._start(self.parts[number], threads)))
                yield from ((number, finish()) for number, finish in started)
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise

    def _start(self, part: Part, threads: Executor) -> Callable[[], _PartCode]:
        """Lowers a part and starts LLVM. The function that is returned waits for the end of LLVM."""
        with collect_apart() as remarks:
            lower_part(part, self.options)
            emitted = emit_part(
                part, instructions=self.target.instructions, callables=self.callables, debug=self.target.debug
            )
        result = ObjectCode.start(emitted.parts.units(), self.target, threads)

        def finish() -> _PartCode:
            code = result()
            with collect_apart() as late:
                report_stack_buffers(emitted.stack, code.optimized_text)
            return _PartCode(emitted.facts, emitted.text, code, remarks + late)

        return finish
