"""Implementations of statements of `tir` with regions, and of assertions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Region

from ...core.printing import print_line
from ...dialects.tir import (
    AssertOp,
    AttrOp,
    BlockOp,
    EvaluateOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    InitOp,
    LaunchThreadOp,
    PrintOp,
    WhileOp,
    YieldOp,
)
from ..oracle.checks import failed
from ..oracle.memory import Fault
from .regions import evaluate_all_mixed, evaluate_mixed, run_ops, run_region, scope
from .state import StatefulFunctions


@register_impls
class ControlFunctions(StatefulFunctions):
    """Loops, blocks and branches. Concurrent iterations run in sequence."""

    @impl(ForOp)
    def run_for(self, interpreter: Interpreter, op: ForOp, args: PythonValues) -> PythonValues:
        low, extent, step = evaluate_all_mixed(interpreter, op.mixed_bounds)
        if step <= 0:
            raise Fault("the step of a loop is not positive")
        values = range(low, low + extent, step)
        self._loop(interpreter, op.body, values, None if op.thread is None else op.thread.data)
        return ()

    @impl(LaunchThreadOp)
    def run_launch_thread(self, interpreter: Interpreter, op: LaunchThreadOp, args: PythonValues) -> PythonValues:
        self._loop(interpreter, op.body, range(evaluate_mixed(interpreter, op.mixed_extent)), op.thread.data)
        return ()

    def _loop(self, interpreter: Interpreter, body: Region, values: range, thread: str | None) -> None:
        """Runs the body for each value; nested in another loop over the same thread, only for the current thread."""
        threads = self.state(interpreter).threads
        for value in values if thread is None else _thread_values(threads, thread, values):
            run_region(interpreter, body, (value,), "loop")

    @impl(WhileOp)
    def run_while(self, interpreter: Interpreter, op: WhileOp, args: PythonValues) -> PythonValues:
        while run_region(interpreter, op.condition, (), "while")[0]:
            self.state(interpreter).run.another_round()
            run_region(interpreter, op.body, (), "while")
        return ()

    @impl(BlockOp)
    def run_block(self, interpreter: Interpreter, op: BlockOp, args: PythonValues) -> PythonValues:
        if op.predicate is not None and not evaluate_mixed(interpreter, op.predicate):
            return ()
        values = evaluate_all_mixed(interpreter, [axis.binding for axis in op.axes])
        for axis, value in zip(op.axes, values, strict=True):
            low, extent = evaluate_all_mixed(interpreter, (axis.low, axis.extent))
            if not low <= value < low + extent:
                raise Fault(f"block {op.block_name.data}: axis {axis.name} is outside of its domain")
        run_region(interpreter, op.body, values, op.block_name.data)
        return ()

    @impl(InitOp)
    def run_init(self, interpreter: Interpreter, op: InitOp, args: PythonValues) -> PythonValues:
        block = op.parent_op()
        assert isinstance(block, BlockOp)
        axes = [pair for pair in zip(block.axes, block.variables, strict=True) if pair[0].kind == "reduce"]
        if all(
            evaluate_mixed(interpreter, variable) == evaluate_mixed(interpreter, axis.low) for axis, variable in axes
        ):
            run_region(interpreter, op.body, (), "init")
        return ()

    @impl(IfOp)
    def run_if(self, interpreter: Interpreter, op: IfOp, args: PythonValues) -> PythonValues:
        return run_region(interpreter, op.then if args[0] else op.orelse, (), "if")

    @impl(IfThenElseOp)
    def run_if_then_else(self, interpreter: Interpreter, op: IfThenElseOp, args: PythonValues) -> PythonValues:
        return run_region(interpreter, op.regions[0 if args[0] else 1], (), "if_then_else")

    @impl_terminator(YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(AttrOp)
    def run_attr(self, interpreter: Interpreter, op: AttrOp, args: PythonValues) -> PythonValues:
        with scope(interpreter, "attr"):
            return run_ops(interpreter, op.body.block)

    @impl(AssertOp)
    def run_assert(self, interpreter: Interpreter, op: AssertOp, args: PythonValues) -> PythonValues:
        return () if args[0] else failed(op.kind_name, op.message.data, *args[1:])

    @impl(PrintOp)
    def run_print(self, interpreter: Interpreter, op: PrintOp, args: PythonValues) -> PythonValues:
        print_line(op.message.data, *args)
        return ()

    @impl(EvaluateOp)
    def run_evaluate(self, interpreter: Interpreter, op: EvaluateOp, args: PythonValues) -> PythonValues:
        return ()


def _thread_values(threads: dict[str, int], thread: str, values: Iterable[int]) -> Iterator[int]:
    """Yields the values of a loop bound to a thread axis; each value is the current thread during its iteration."""
    if thread in threads:
        yield from [threads[thread]] if threads[thread] in values else []
        return
    try:
        for value in values:
            threads[thread] = value
            yield value
    finally:
        threads.pop(thread, None)
