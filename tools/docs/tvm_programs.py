"""The outcome of TVM's tutorials under `python -m stepwell.frontends.tvm`, and their table on docs/tvm.md.

`python -m stepwell.tools.docs.tvm_programs FOLDER [PATTERN]` runs the programs of a folder, whose first level are
versions of TVM (`v0.7/tutorials/language/scan.py`), and writes their outcomes to the page. With a pattern only the
programs whose path contains it run, and the page stays. Nothing is fetched: programs that load files of the network,
or need a device that is no part of this machine, are left out by name.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PAGE = Path("docs") / "tvm.md"
BEGIN, END = "<!-- programs: begin -->", "<!-- programs: end -->"
TIMEOUT = 120
"""The greatest run time of a program, in seconds."""

LEFT_OUT = {
    r"vta/|/micro|/work_with_microtvm/": "devices of their own",
    r"/compile_models/|/frontend/from_|/import_model": "models of other packages",
    r"/deploy_|/build_gcn|/optimize_llm|/work_with_msc/|/bring_your_own_datatypes":
        "models and data of the network",
    r"tvmc_|autotvm_relay_x86|/tune_network_|/tune_relay_": "models of the network, and tuning",
    r"/install.py": "no program",
}  # fmt: skip
"""Programs that are not run, by a pattern of their paths, with the reason."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program. reason: empty if it ran to its end.  seconds: its run time."""

    path: Path
    reason: str
    seconds: float


def programs(folder: Path) -> list[Path]:
    """The programs of a folder that are run, relative to it."""
    found = sorted(path.relative_to(folder) for path in folder.rglob("*.py"))
    return [path for path in found if not any(re.search(pattern, f"/{path}") for pattern in LEFT_OUT)]


def run(folder: Path, path: Path) -> Outcome:
    """Runs a program in a folder of its own, for `cuda` with the emulated GPU."""
    start = time.monotonic()
    command = [sys.executable, "-m", "stepwell.frontends.tvm", "--emulate-gpu", str((folder / path).resolve())]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(path, f"longer than {TIMEOUT} s", TIMEOUT)
    reason = "" if done.returncode == 0 else _last_error(done.stderr) or f"ended with status {done.returncode}"
    return Outcome(path, reason, time.monotonic() - start)


def _last_error(text: str) -> str:
    """The first line of the last exception of an output: `ValueError: ...`."""
    lines = [line for line in text.splitlines() if re.match(r"[A-Za-z_.]*(Error|Exception|Exit|Interrupt)\b", line)]
    return (
        lines[-1].rpartition(".")[2]
        if lines and ":" not in lines[-1]
        else re.sub(r"^[\w.]+\.", "", lines[-1])
        if lines
        else ""
    )


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table, after their sum."""
    ran = sum(not each.reason for each in outcomes)
    rows = [
        f"{ran} of {len(outcomes)} programs run as they are ({100 * ran // max(len(outcomes), 1)} %).",
        "",
        "| version | program | outcome |",
        "|---|---|---|",
    ]
    for each in outcomes:
        version, *rest = each.path.parts
        reason = each.reason.replace("|", "\\|")[:160]
        rows.append(f"| {version} | `{'/'.join(rest)}` | {reason or 'runs'} |")
    return "\n".join(rows)


def page_with(text: str, outcomes: list[Outcome]) -> str:
    """A page with the table of outcomes between its marks."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n{table(outcomes)}\n{text[end:]}"


def main() -> None:
    """Runs the programs of the folder that the command line names."""
    folder, pattern = Path(sys.argv[1]), "".join(sys.argv[2:3])
    outcomes: list[Outcome] = []
    for path in programs(folder):
        if pattern in str(path):
            outcomes.append(run(folder, path))
            print(f"{path}: {outcomes[-1].reason or 'runs'} ({outcomes[-1].seconds:.0f} s)", flush=True)
    if not pattern:
        PAGE.write_text(page_with(PAGE.read_text(), outcomes))


if __name__ == "__main__":
    main()
