"""Measures `stepwell explain`: the time of a compilation with its page, the size of the page, and the time after which
headless Chromium has loaded and laid it out, for a scheduled matrix product, a softmax, and a block of ResNet.

With `--keep`, the pages and their screenshots stay in a folder.

    python benchmarks/explain.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stepwell
from stepwell import relay

MATMUL = """
@T.prim_func
def main(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32"), C: T.Buffer((512, 512), "float32")):
    for i, j, k in T.grid(512, 512, 512):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
LOADED = """<script>addEventListener("load", () => {
  document.body.getBoundingClientRect();
  document.title = performance.now().toFixed(0);
});</script>"""
"""The time from the request of the page to the end of its layout, as the title of the page."""


def matmul() -> stepwell.Schedule:
    """A matrix product in tiles, vectors and unrolled loops."""
    sch = stepwell.Schedule(stepwell.parse_tvmscript(MATMUL))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 64])
    sch.reorder(i0, j0, k, i1, j1)
    sch.unroll(i1)
    sch.vectorize(j1)
    return sch


def softmax() -> stepwell.Module:
    """A softmax of a graph."""
    x = relay.var("x", shape=(64, 1000))
    return relay.module(relay.Function([x], relay.nn.softmax(x)))


def resnet_block() -> stepwell.Module:
    """Two convolutions with a connection around them."""
    x = relay.var("x", shape=(1, 64, 56, 56))
    weights = [relay.var(name, shape=(64, 64, 3, 3)) for name in "ab"]
    y: Any = relay.nn.relu(relay.nn.conv2d(x, weights[0], padding=(1, 1)))
    y = relay.nn.relu(relay.add(relay.nn.conv2d(y, weights[1], padding=(1, 1)), x))
    return relay.module(relay.Function([x, *weights], y))


PROGRAMS: dict[str, Callable[[], stepwell.Module | stepwell.Schedule]] = {
    "matmul": matmul,
    "softmax": softmax,
    "resnet block": resnet_block,
}


def load_milliseconds(browser: str, page: Path) -> int:
    """The time after which a browser has loaded and laid out a page."""
    timed = page.with_suffix(".timed.html")
    timed.write_text(page.read_text().replace("<title>", f"{LOADED}<title>", 1))
    done = _browse(browser, "--dump-dom", timed.as_uri())
    timed.unlink()
    (title,) = re.findall(r"<title>(\d+)</title>", done)
    return int(title)


def take_screenshot(browser: str, page: Path) -> None:
    """Writes the picture of a page beside the page."""
    _browse(browser, f"--screenshot={page.with_suffix('.png')}", "--window-size=1900,1000", page.as_uri())


def _browse(browser: str, *options: str) -> str:
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def main() -> None:
    """Prints a line for each program."""
    parser = argparse.ArgumentParser(description="measures the pages of stepwell explain")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the pages and screenshots")
    options = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is not installed")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in PROGRAMS.items():
            page, program = folder / f"{name.replace(' ', '_')}.html", make()
            start = time.perf_counter()
            stepwell.explain(program, page)
            seconds = time.perf_counter() - start
            size = page.stat().st_size
            loaded = load_milliseconds(browser, page)
            print(f"{name:14}{seconds:6.2f} s{size / 1024:8.0f} KB   loaded after {loaded} ms")
            if options.keep is not None:
                take_screenshot(browser, page)


if __name__ == "__main__":
    main()
