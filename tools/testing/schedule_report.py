"""The generator of docs/schedule-vs-tvm.md: the results of the schedules of the corpus, compared with TVM's.

`python -m stepwell.tools.testing.schedule_report` prints the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

from ...module import Module
from ...schedule import Schedule
from .equivalence import program_difference
from .schedules import RefusedCase, ScheduleCase, apply_trace, attempt, parse_shared, refused_cases, schedule_cases

DIFFERENCES: dict[str, str] = {
    "softmax-85": "a buffer is reindexed twice: TVM calls both new blocks alike, and can no longer find either by name",
}
"""Traces whose result differs from TVM's beyond names of variables and forms of indices, with the reason."""

ALLOWED: dict[str, str] = {
    "mm_relu-7": "TVM fails inside: the buffer is written in a block within a block",
    "blur-53": "TVM fails inside: the copy that the block reads is bound to a quotient",
    "chain-57": "a loop with several blocks in it may become one block if its loops move their axes alike",
    "softmax-75": "a producer outside of the loop has finished before it",
    "odd_mm-127": "the new elements are padding that nobody reads, so that they need no value",
}
"""Attempts refused by TVM and allowed by Stepwell, with the justification."""

TESTS_OF_TVM: dict[str, int] = {
    "the same program": 359,
    "another program, the same numbers": 30,
    "refused": 22,
}
"""The outcomes of the schedules of TVM's own tests, as `tests/peer/test_tvm_own_schedules.py` finds them."""

_PARTIAL = "TVM clips each partial sum, as its documentation warns, so that other numbers result"
_UNWRITTEN = "TVM's program reads memory that is never written: two blocks read the sum"
_TOO_LONG = "whether two overlapping dimensions may roll takes more than the check may take"

REFUSED_TESTS: dict[str, str] = {
    "annotate_buffer_access_with_compute_at_for_resize": "an index that is computed from floats may be any element, "
    "also outside of the declared region",
    "cache_write_opaque_access[block_name]": "a call that writes a part of its tile leaves garbage in TVM's copy "
    "(executed)",
    "cache_write_opaque_access[block_obj]": "as above",
    "cache_write_sibling_nested_block_predicates_use_union": "TVM overwrites `C_buf[8, 16]` "
    "with memory that was never written",
    "cache_write_under_scope[block_name]": "a block that declares reads of a buffer is assumed to read old elements, "
    "which TVM's copy does not hold (executed)",
    "cache_write_under_scope[block_obj]": "as above",
    "compute_inline_multi_loads[block_obj]": "the program reads `B[0, 128]`, which is outside of B",
    "cascade_3_max_pool2d_with_stride": _TOO_LONG,
    "upscale": _TOO_LONG,
    "fuse_reduction_epilogue_multiple_epilogue": _UNWRITTEN,
    "matmul_bias_relu": _PARTIAL,
    "matmul_bias_relu_multiple_epilogue": _PARTIAL,
    "matmul_clipping": _PARTIAL,
    **{f"matmul_clipping_commutative_variants[<lambda>{n}]": _PARTIAL for n in range(5)},
    "matmul_clipping_multiple_epilogue": _PARTIAL,
    "read_at_local_to_shared_c": "each thread would copy elements that other threads have not written yet",
    "reorder_with_opaque_access": "the pointer may write the same element in two instances, and TVM's order leaves "
    "another value (executed)",
    "transform_layout_with_var": "an index map that divides by a parameter of the program: TVM's program crashes if it "
    "is 0 (executed)",
}
"""The schedules of TVM's own tests that Stepwell refuses, with the reason or an example of a wrong result of TVM."""


@cache
def replay_case(case: ScheduleCase | RefusedCase) -> Schedule:
    """The schedule after the trace of a case."""
    schedule = Schedule(parse_shared(case.before))
    apply_trace(schedule, case.trace)
    return schedule


@cache
def difference_to_recorded(case: ScheduleCase) -> str | None:
    """The first difference between the result of a trace and the recorded program, names of blocks included; None if
    equal."""
    return program_difference(replay_case(case).mod, parse_shared(case.after), block_names=True)


@cache
def attempt_case(case: RefusedCase) -> tuple[str | None, Module]:
    """The reason for the refusal of the attempt of a case, or None, and the program after the attempt."""
    schedule = replay_case(case)
    return attempt(schedule, case.attempt), schedule.mod


def page() -> str:
    """The text of docs/schedule-vs-tvm.md."""
    return "\n".join([*_head(), *_traces(), *_attempts(), *_tests_of_tvm()]) + "\n"


def _head() -> Iterable[str]:
    yield from (
        "# Schedules beside TVM",
        "",
        "The corpus (`tests/data/corpus/schedules`) holds traces that TVM 0.27 applied to eight programs, with the",
        "resulting program of each, and attempts that TVM refused. This page lists the results of Stepwell. It is the",
        "output of `python -m stepwell.tools.testing.schedule_report`; a test compares both.",
        "",
        "Two programs are equal if they differ only in names of variables and buffers, in the form of indices and",
        "conditions of equal value, and in the order of declarations. Names of blocks count.",
        "",
    )


def _traces() -> Iterable[str]:
    cases = schedule_cases()
    different = [case for case in cases if difference_to_recorded(case) is not None]
    yield from (
        "## Traces that TVM applied",
        "",
        "Each trace is replayed line by line. The resulting program verifies, is read back from both of its texts, and",
        "computes the recorded numbers.",
        "",
        "| | |",
        "|---|---|",
        f"| traces | {len(cases)} |",
        f"| equal programs | {len(cases) - len(different)} |",
        f"| different programs | {len(different)} |",
        "",
    )
    if different:
        yield from ("| trace | first difference (here, TVM) | why |", "|---|---|---|")
        yield from (f"| {c.name} | {_cell(difference_to_recorded(c))} | {DIFFERENCES[c.name]} |" for c in different)
        yield ""


def _cell(text: str | None) -> str:
    what, *lines = (text or "").splitlines()
    return "<br>".join([what.partition(": ")[2], *(f"`{line.strip()}`" for line in lines)]).replace("|", "\\|")


def _attempts() -> Iterable[str]:
    cases = refused_cases()
    allowed = [case for case in cases if attempt_case(case)[0] is None]
    total, here = Counter(case.kind for case in cases), Counter(case.kind for case in allowed)
    yield from (
        "## Attempts that TVM refused",
        "",
        "Each primitive is attempted after its trace. A refused attempt leaves the program untouched; after an allowed",
        "attempt, the program computes the recorded numbers.",
        "",
        "| primitive | attempts | refused | allowed |",
        "|---|---|---|---|",
        *(f"| {kind} | {total[kind]} | {total[kind] - here[kind]} | {here[kind]} |" for kind in sorted(total)),
        f"| all | {total.total()} | {total.total() - here.total()} | {here.total()} |",
        "",
        "| allowed attempt | | why |",
        "|---|---|---|",
        *(f"| {c.name} | `{c.attempt.splitlines()[-1]}` | {ALLOWED[c.name]} |" for c in allowed),
    )


def _tests_of_tvm() -> Iterable[str]:
    yield from (
        "",
        "## TVM's own tests",
        "",
        "`tests/peer/test_tvm_own_schedules.py` records the schedules of TVM's tests of schedules, which are in",
        "`tests/python/s_tir/schedule` of its sources, and replays each of them. The results are compared as programs,",
        "and where these differ, by the numbers that they compute from random inputs. All texts are parsed, and no",
        "numbers differ. *Executed*: `tests/peer/test_tvm_counterexamples.py` runs TVM's program of a small example.",
        "",
        "| result | schedules |",
        "|---|---|",
        *(f"| {outcome} | {count} |" for outcome, count in TESTS_OF_TVM.items()),
        f"| all | {sum(TESTS_OF_TVM.values())} |",
        "",
        "| refused | why |",
        "|---|---|",
        *(f"| {name} | {reason} |" for name, reason in REFUSED_TESTS.items()),
    )


if __name__ == "__main__":
    print(page(), end="")
