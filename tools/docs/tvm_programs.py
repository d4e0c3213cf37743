"""The outcome of TVM's tutorials under `python -m stepwell.frontends.tvm`, and their table on docs/tvm.md.

`python -m stepwell.tools.docs.tvm_programs FOLDER [--only TEXT] [--seconds N]` runs the programs of a folder, whose
first level are versions of TVM (`v0.7/tutorials/language/scan.py`), and writes their outcomes to the page. With
`--only` the programs whose path contains a text run, and the page stays. Nothing is fetched: the programs find no
network.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..marks import replace_between_marks

PAGE = Path("docs") / "tvm.md"
BEGIN, END = "<!-- programs: begin -->", "<!-- programs: end -->"
SECONDS = 600
"""The default of the greatest run time of a program."""

MACHINES = {
    r"/micro|/work_with_microtvm/|/vta/": "a microcontroller or an FPGA",
    r"/deploy_model_on_(android|adreno|nano|rasp)": "a phone or a board",
    r"/tune_(network|relay)_(arm|mali|mobile_gpu)": "a phone or a board",
    r"/opt_matmul_auto_tensorcore": "a GPU with tensor cores",
}
"""The programs for another machine, by a pattern of their paths; they do not run."""
PACKAGES = {
    r"/from_darknet": "darknet",
    r"/using_pipeline_executor": "cutlass",
    r"/bring_your_own_datatypes": "mxnet",
    r"/optimize_llm": "torch",
}
"""The programs that need another package after their first statements, by a pattern of their paths: a library without
an import; a model of mxnet; weights of a model, read by torch.
"""
_TUNERS = re.compile(r"\b(meta_schedule|MetaSchedule\w*)\b")
_LIBRARY = re.compile(r"\b(CUBLAS|CUDNN|CUTLASS) is not enabled")
_NETWORK = re.compile(r"https?://|urlopen error|Name or service not known|ConnectionError|ProxyError")
_NO_NETWORK = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program. kind: `runs`, `text` without a statement; `machine`, `package` or `network`, which the
    program needs; `tuner`; or `stops`.  reason: the need, or the error.
    """

    kind: str
    reason: str = ""

    def __str__(self) -> str:
        return self.kind if self.kind != "package" else self.reason


def programs(folder: Path) -> list[Path]:
    """The programs of a folder, relative to it, without the modules that others of their folder import."""
    found = sorted(path.relative_to(folder) for path in folder.rglob("*.py"))
    return [path for path in found if not _is_imported(folder / path)]


def _is_imported(path: Path) -> bool:
    pattern = re.compile(rf"^\s*(from|import) {re.escape(path.stem)}\b", re.MULTILINE)
    return any(pattern.search(other.read_text()) for other in path.parent.glob("*.py") if other != path)


def run(path: Path, seconds: float) -> Outcome:
    """Runs a program in a folder of its own, for `cuda` with the emulated GPU."""
    for kind, needs in (("machine", MACHINES), ("package", PACKAGES)):
        need = next((need for pattern, need in needs.items() if re.search(pattern, str(path))), None)
        if need is not None:
            return Outcome(kind, need)
    if all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in _tree(path).body):
        return Outcome("text")
    command = [sys.executable, "-m", "stepwell.frontends.tvm", "--emulate-gpu", str(path.resolve())]
    with tempfile.TemporaryDirectory() as scratch:
        records = path.parent / "ci_logs"  # those that TVM's own runs of the tutorials copy
        if records.is_dir():
            shutil.copytree(records, scratch, dirs_exist_ok=True)
        environment = {**os.environ, **_NO_NETWORK, "TEST_DATA_ROOT_PATH": scratch}
        try:
            done = subprocess.run(
                command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return Outcome("stops", f"longer than {seconds:.0f} s")
    if done.returncode == 0:
        return Outcome("runs")
    return outcome_of(last_error(done.stderr) or f"status {done.returncode}")


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def last_error(text: str) -> str:
    """The first line of the last exception of an output, with the name of its class: `ValueError: ...`."""
    pattern = re.compile(r"(?:\w+\.)*(\w*(?:Error|Exception|Exit|Interrupt)\b.*)")
    found = [match[1] for match in map(pattern.match, text.splitlines()) if match]
    return found[-1].strip() if found else ""


def outcome_of(error: str) -> Outcome:
    """The outcome of a program that ends with an error."""
    package = re.search(r"No module named '(\w+)", error)
    if package and package[1] not in ("tvm", "topi", "stepwell", "tvm_ffi"):
        return Outcome("package", package[1])
    library = _LIBRARY.search(error)
    if library:
        return Outcome("package", library[1].lower())
    if _NETWORK.search(error):
        return Outcome("network")
    return Outcome("tuner" if _TUNERS.search(error) else "stops", re.sub(r" \(/[^)]*\)|/\S*/(?=\w+\.py)", "", error))


def run_all(folder: Path, paths: Sequence[Path], seconds: float) -> Iterator[tuple[Path, Outcome]]:
    """The outcome of each program. A program that differs from an earlier one in texts only has its outcome."""
    known: dict[str, Outcome] = {}
    for path in paths:
        key = "\n".join([path.stem, *(ast.dump(each) for each in _statements(folder / path))])
        start = time.monotonic()
        if key not in known:
            known[key] = run(folder / path, seconds)
        print(f"{path}: {known[key].kind} {known[key].reason} ({time.monotonic() - start:.0f} s)", flush=True)
        yield path, known[key]


def _statements(path: Path) -> list[ast.stmt]:
    return [
        each for each in _tree(path).body if not isinstance(each, ast.Expr) or not isinstance(each.value, ast.Constant)
    ]


# The page


def table(outcomes: Mapping[Path, Outcome]) -> str:
    """The outcomes: shares of each version, a row for each tutorial, and the errors."""
    versions = sorted({path.parts[0] for path in outcomes}, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
    by_name: dict[str, dict[str, Outcome]] = {}
    for path, outcome in outcomes.items():
        by_name.setdefault(path.stem, {})[path.parts[0]] = outcome
    errors = {name: each.reason for name, row in by_name.items() for each in row.values() if each.kind == "stops"}
    return "\n".join(
        [
            *_shares(outcomes, versions),
            "",
            f"| tutorial | {' | '.join(versions)} |",
            f"|---|{'---|' * len(versions)}",
            *(
                f"| `{name}` | {' | '.join(str(row.get(version, '')) for version in versions)} |"
                for name, row in sorted(by_name.items())
            ),
            "",
            "| stopped tutorial | error |",
            "|---|---|",
            *(f"| `{name}` | {error.replace('|', chr(92) + '|')[:160]} |" for name, error in sorted(errors.items())),
        ]
    )


def _shares(outcomes: Mapping[Path, Outcome], versions: Sequence[str]) -> Iterator[str]:
    kinds = ("runs", "stops", "tuner", "package", "network", "machine", "text")
    yield f"| version | share | {' | '.join(kinds)} |"
    yield f"|---|---:|{'---:|' * len(kinds)}"
    for version in versions:
        counts = [
            sum(outcome.kind == kind for path, outcome in outcomes.items() if path.parts[0] == version)
            for kind in kinds
        ]
        counted = counts[0] + counts[1]
        share = f"{100 * counts[0] // counted} %" if counted else ""
        yield f"| {version} | {share} | {' | '.join(map(str, counts))} |"


def page_with(text: str, outcomes: Mapping[Path, Outcome]) -> str:
    """A page with the table of outcomes between its marks."""
    return replace_between_marks(text, BEGIN, END, table(outcomes))


def main() -> None:
    """Runs the programs of the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Runs TVM's tutorials, and writes their outcomes to docs/tvm.md.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    paths = [path for path in programs(options.folder) if options.only in str(path)]
    outcomes = dict(run_all(options.folder, paths, options.seconds))
    if not options.only:
        PAGE.write_text(page_with(PAGE.read_text(), outcomes))


if __name__ == "__main__":
    main()
