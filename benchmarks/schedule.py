"""Measures the cost of schedules.

A trace of some fifty instructions on conv2d + bias + relu, with all checks and without; the cost of each primitive of
the trace; and the growth of the cost of a primitive with the size of the program (1 to 32 nests of matmul). With
`--peer PYTHON`, an interpreter with TVM 0.27, TVM applies the same trace, in turn with Stepwell.

    python benchmarks/schedule.py [--runs N] [--peer PYTHON]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

from stepwell import Module, Schedule, parse_tvmscript

CONV = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1, 64, 56, 56), "float32"), W: T.Buffer((64, 64, 3, 3), "float32"),
             bias: T.Buffer((64,), "float32"), relu: T.Buffer((1, 64, 56, 56), "float32")):
        pad = T.alloc_buffer((1, 64, 58, 58), "float32")
        conv = T.alloc_buffer((1, 64, 56, 56), "float32")
        added = T.alloc_buffer((1, 64, 56, 56), "float32")
        for i0, i1, i2, i3 in T.grid(1, 64, 58, 58):
            with T.block("pad"):
                a, b, c, d = T.axis.remap("SSSS", [i0, i1, i2, i3])
                pad[a, b, c, d] = T.if_then_else(
                    1 <= c and c < 57 and 1 <= d and d < 57, A[a, b, c - 1, d - 1], T.float32(0))
        for nn, ff, yy, xx, rc, ry, rx in T.grid(1, 64, 56, 56, 64, 3, 3):
            with T.block("conv"):
                n, f, y, x, c, h, w = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
                with T.init():
                    conv[n, f, y, x] = T.float32(0)
                conv[n, f, y, x] = conv[n, f, y, x] + pad[n, c, y + h, x + w] * W[f, c, h, w]
        for i0, i1, i2, i3 in T.grid(1, 64, 56, 56):
            with T.block("added"):
                a, b, c, d = T.axis.remap("SSSS", [i0, i1, i2, i3])
                added[a, b, c, d] = conv[a, b, c, d] + bias[b]
        for i0, i1, i2, i3 in T.grid(1, 64, 56, 56):
            with T.block("relu"):
                a, b, c, d = T.axis.remap("SSSS", [i0, i1, i2, i3])
                relu[a, b, c, d] = T.max(added[a, b, c, d], T.float32(0))
"""

STEPS = """
b0 = sch.get_block("added")
sch.compute_inline(b0)
b1 = sch.get_block("conv")
b2 = sch.get_block("relu")
b3 = sch.get_block("pad")
l1, l2, l3, l4, l5, l6, l7 = sch.get_loops(b1)
l8, l9 = sch.split(l2, [None, 16])
l10, l11 = sch.split(l3, [None, 4])
l12, l13 = sch.split(l4, [None, 7])
l14, l15 = sch.split(l5, [None, 8])
sch.reorder(l1, l8, l10, l12, l14, l6, l7, l15, l11, l13, l9)
b4 = sch.cache_write(b1, 0, "global")
sch.reverse_compute_at(b4, l12)
l16 = sch.get_loops(b4)[-1]
sch.vectorize(l16)
b5 = sch.cache_read(b1, 1, "global")
sch.compute_at(b5, l14)
l17 = sch.get_loops(b5)[-1]
l18 = sch.get_loops(b5)[-2]
l19 = sch.fuse(l18, l17)
l20, l21 = sch.split(l19, [None, 4])
sch.vectorize(l21)
sch.compute_at(b3, l10)
l22 = sch.get_loops(b3)[-1]
l23, l24 = sch.split(l22, [None, 8])
sch.vectorize(l24)
sch.reverse_compute_at(b2, l10)
l25 = sch.get_loops(b2)[-1]
l26, l27 = sch.split(l25, [None, 8])
sch.vectorize(l27)
sch.vectorize(l9)
sch.unroll(l13)
sch.unroll(l11)
l29 = sch.fuse(l1, l8)
sch.parallel(l29)
b6 = sch.decompose_reduction(b1, l14)
l28 = sch.get_loops(b6)[-1]
sch.vectorize(l28)
sch.annotate(l29, "pragma_auto_unroll_max_step", 64)
sch.annotate(b1, "schedule_rule", "tiled")
sch.storage_align(b3, 0, 2, 16, 4)
sch.set_scope(b5, 0, "global")
b7 = sch.get_consumers(b1)
b8 = sch.get_producers(b1)
l30 = sch.get_loops(b1)
l31 = sch.add_unit_loop(b2)
sch.unroll(l31)
b9 = sch.get_child_blocks(l29)
sch.unannotate(l29, "pragma_auto_unroll_max_step")
sch.annotate(l29, "pragma_auto_unroll_max_step", 16)
"""

PEER = """
import json, sys, time
from tvm.s_tir import Schedule
from tvm.script import from_source

text, steps, runs = json.load(sys.stdin)
mod, code, times = from_source(text), compile(steps, "steps", "exec"), []
for _ in range(runs):
    start = time.perf_counter()
    exec(code, {"sch": Schedule(mod)})
    times.append(time.perf_counter() - start)
import tvm
json.dump([times, tvm.__version__], sys.stdout)
"""


def _apply(mod: Module, lines: list[str], *, checked: bool) -> tuple[float, list[float]]:
    """Applies a trace: (the seconds of the trace, the seconds of each line)."""
    sch, times = Schedule(mod, enable_check=checked), []
    scope: dict[str, object] = {"sch": sch}
    codes = [compile(line, "steps", "exec") for line in lines]
    for code in codes:
        start = time.perf_counter()
        exec(code, scope)
        times.append(time.perf_counter() - start)
    return sum(times), times


def _trace(runs: int, peer: str | None) -> None:
    mod, lines = parse_tvmscript(CONV), STEPS.strip().splitlines()
    totals: dict[str, list[float]] = {"all checks": [], "no checks": [], "TVM": []}
    each: list[list[float]] = []
    release = ""
    for _ in range(runs):
        total, times = _apply(mod, lines, checked=True)
        totals["all checks"].append(total)
        each.append(times)
        totals["no checks"].append(_apply(mod, lines, checked=False)[0])
        if peer is not None:
            text = json.dumps([mod.script("0.27"), STEPS.replace("get_block", "get_sblock"), 3])
            done = subprocess.run([peer, "-c", PEER], input=text, capture_output=True, text=True, check=True)
            times_of_peer, release = json.loads(done.stdout)
            totals["TVM"].append(statistics.median(times_of_peer))
    medians = {name: statistics.median(times) for name, times in totals.items() if times}
    print(f"\nconv2d + bias + relu, {len(lines)} instructions, median of {runs}")
    for name, median in medians.items():
        label = f"{name} {release}" if name == "TVM" else f"stepwell, {name}"
        print(f"  {label:24}{median * 1e3:9.1f} ms")
    if "TVM" in medians:
        print(f"  {'TVM / stepwell':24}{medians['TVM'] / medians['all checks']:9.2f}")
    _by_primitive(lines, each)


def _by_primitive(lines: list[str], each: list[list[float]]) -> None:
    costs: dict[str, list[float]] = {}
    for n, line in enumerate(lines):
        name = line.partition("sch.")[2].partition("(")[0]
        costs.setdefault(name, []).append(statistics.median(times[n] for times in each))
    print(f"\n  {'primitive':24}{'times':>6}{'ms median':>11}{'worst':>8}")
    for name, times in sorted(costs.items(), key=lambda item: -sum(item[1])):
        print(f"  {name:24}{len(times):6}{statistics.median(times) * 1e3:11.2f}{max(times) * 1e3:8.2f}")


def _nests(count: int) -> Module:
    """A program of `count` independent matrix products, each followed by a consumer."""
    parameters, body = [], []
    for n in range(count):
        parameters += [f'{name}{n}: T.Buffer((64, 64), "float32")' for name in "ABD"]
        body += [
            f'C{n} = T.alloc_buffer((64, 64), "float32")',
            "for i, j, k in T.grid(64, 64, 64):",
            f'    with T.block("C{n}"):',
            '        vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
            "        with T.init():",
            f"            C{n}[vi, vj] = T.float32(0)",
            f"        C{n}[vi, vj] = C{n}[vi, vj] + A{n}[vi, vk] * B{n}[vk, vj]",
            "for i, j in T.grid(64, 64):",
            f'    with T.block("D{n}"):',
            '        vi, vj = T.axis.remap("SS", [i, j])',
            f"        D{n}[vi, vj] = T.max(C{n}[vi, vj], T.float32(0))",
        ]
    lines = "\n".join(f"        {line}" for line in body)
    header = f"@I.ir_module\nclass Module:\n    @T.prim_func\n    def main({', '.join(parameters)}):\n"
    return parse_tvmscript(f"{header}{lines}\n")


GROWTH = {
    "get_block": 'sch.get_block("C0")',
    "split": "sch.split(sch.get_loops('C0')[0], [None, 8])",
    "fuse": "sch.fuse(*sch.get_loops('C0')[:2])",
    "reorder": "sch.reorder(*sch.get_loops('C0')[::-1])",
    "parallel": "sch.parallel(sch.get_loops('C0')[0])",
    "compute_at": "sch.compute_at('C0', sch.get_loops('D0')[0])",
    "reverse_compute_at": "sch.reverse_compute_at('D0', sch.get_loops('C0')[0])",
    "cache_read": "sch.cache_read('C0', 0, 'global')",
    "cache_write": "sch.cache_write('C0', 0, 'global')",
    "decompose_reduction": "sch.decompose_reduction('C0', sch.get_loops('C0')[2])",
    "rfactor": "sch.rfactor(sch.get_loops('C0')[2], 0)",
    "refused split": "refuse(sch)",
}


def _refuse(sch: Schedule) -> None:
    """Applies a primitive whose refusal prints the program."""
    from stepwell import ScheduleError

    try:
        sch.split(sch.get_loops("C0")[0], [2, 2])
    except ScheduleError:
        return
    raise RuntimeError("split was not refused")


def _growth(runs: int) -> None:
    sizes = (1, 2, 4, 8, 16, 32)
    mods = {n: _nests(n) for n in sizes}
    print(f"\nms for one primitive in a program of n nests (2 blocks each), median of {runs}")
    print(f"  {'n':24}{''.join(f'{n:8}' for n in sizes)}   32 / 1")
    ops = {n: sum(1 for _ in mod.op.walk()) for n, mod in mods.items()}
    print(f"  {'operations':24}{''.join(f'{ops[n]:8}' for n in sizes)}{ops[32] / ops[1]:9.1f}")
    for name, step in GROWTH.items():
        code, costs = compile(step, "step", "exec"), {}
        for n in sizes:
            times = []
            for _ in range(runs):
                sch = Schedule(mods[n])
                start = time.perf_counter()
                exec(code, {"sch": sch, "refuse": _refuse})
                times.append(time.perf_counter() - start)
            costs[n] = statistics.median(times)
        row = "".join(f"{costs[n] * 1e3:8.2f}" for n in sizes)
        print(f"  {name:24}{row}{costs[32] / costs[1]:9.1f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=7, help="how often to measure each")
    arguments.add_argument("--peer", help="a Python that has TVM 0.27")
    options = arguments.parse_args()
    print(f"# {platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    print(f"# stepwell {version('stepwell')}, xdsl {version('xdsl')}, islpy {version('islpy')}; {' '.join(sys.argv)}")
    _trace(options.runs, options.peer)
    _growth(options.runs)


if __name__ == "__main__":
    main()
