"""The outcome of TVM's own tests with `tvm` as this package, and their table on docs/tvm.md.

`python -m stepwell.tools.docs.tvm_tests FOLDER [--only TEXT] [--seconds N] [--jobs N]` runs the files of a folder, such
as `tests/python/relay` of TVM 0.16, each in a process of its own, and writes the outcomes of their functions to the
page. With `--only` the files whose path contains a text run, and the page stays. Nothing is fetched.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..marks import replace_between_marks

PAGE = Path("docs") / "tvm.md"
BEGIN, END = "<!-- tests: begin -->", "<!-- tests: end -->"
SECONDS = 600
"""The default of the greatest run time of a file."""
RECORDER = "stepwell.tools.docs.tvm_test_recorder"

ELSEWHERE = {
    r"^aot/|test_cpp_build_module|test_link_params|test_used_memory_annotator": "C for microcontrollers",
    r"^collage/|collage_partition": "collage",
    r"^opencl_texture/": "OpenCL",
    r"^strategy/": "schedules of other processors",
    r"^benchmarking/|test_roofline": "the counters of a processor",
    r"^utils/|conftest": "helpers",
    r"auto_scheduler|autotvm": "tuners",
    r"test_pipeline_executor": "several devices",
    r"test_external_codegen|test_json_runtime|test_target_hooks|test_name_(mangling|supply|transforms)|"
    r"test_relay_te_compiler": "TVM's code generators in C++",
    r"test_custom_datatypes": "data types of users",
}
"""The files that test features of TVM which this package lacks by its nature, by a pattern of their paths."""
_NUMBERS = re.compile(
    r"Not equal to tolerance|Mismatched elements|Arrays are not (almost )?equal|AssertionError: NUMBERS"
)
_SKIP_OF_PACKAGE = re.compile(r"No module named '(\w+)|needs? (?:package )?(\w+)|could not import '(\w+)")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test function. kind: `passes`, `numbers` for another result than expected, `fails`, `skipped`,
    or `package`, which the function needs.  reason: the error, or the name of the package.
    """

    kind: str
    reason: str = ""


ORDER = ("numbers", "fails", "package", "passes", "skipped")
"""The kinds of outcomes; the outcome of a function is the first kind among those of its parameters."""


def files(folder: Path) -> list[Path]:
    """The files of tests of a folder, relative to it."""
    return sorted(path.relative_to(folder) for path in folder.rglob("test_*.py"))


def need_of(path: Path) -> str | None:
    """The feature of TVM that a file tests and this package lacks by its nature, or None."""
    return next((need for pattern, need in ELSEWHERE.items() if re.search(pattern, str(path))), None)


def functions(path: Path) -> list[str]:
    """The names of the test functions of a file, those of classes with the name of the class: `TestA::test_b`. A class
    without functions of its own inherits those of a class of the file, or that of `tvm.testing.CompareBeforeAfter`:
    `TestA::test_compare`.
    """
    tree = ast.parse(path.read_text())
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    return list(_functions(tree.body, classes))


def _functions(body: Iterable[ast.stmt], classes: Mapping[str, ast.ClassDef]) -> Iterator[str]:
    for each in body:
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test"):
            yield each.name
        elif isinstance(each, ast.ClassDef) and each.name.startswith("Test") and classes:
            yield from (f"{each.name}::{name}" for name in _methods(each, classes))


def _methods(cls: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    """The names of the test functions of a class."""
    own = list(_functions(cls.body, {}))
    if own or not cls.bases:
        return own
    bases = [classes[base.id] for base in cls.bases if isinstance(base, ast.Name) and base.id in classes]
    return [name for base in bases for name in _methods(base, classes)] if bases else ["test_compare"]


def run(folder: Path, path: Path, seconds: float) -> dict[str, Outcome]:
    """The outcome of each test function of a file."""
    names = functions(folder / path)
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record"
        record.touch()
        ended = _run_process(folder, path, record, seconds)
        reports = [json.loads(line) for line in record.read_text().splitlines()]
    found: dict[str, list[Outcome]] = {}
    for report in reports:
        found.setdefault(report["name"], []).append(outcome_of(report["outcome"], report["text"]))
    for_all = next((outcomes[0] for name, outcomes in found.items() if not name), Outcome("fails", ended))
    names += [name for name in found if name and name not in names]  # methods that classes inherit
    return {name: min(found.get(name, [for_all]), key=lambda each: ORDER.index(each.kind)) for name in names}


def _run_process(folder: Path, path: Path, record: Path, seconds: float) -> str:
    """Runs the tests of a file, which write their outcomes to `record`; returns why a function may lack one."""
    plugins = ["-p", RECORDER, "-p", "stepwell.frontends.tvm.testing.plugin"]
    options = ["-q", "--noconftest", "--import-mode=prepend", "-p", "no:cacheprovider", "--tb=short", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *plugins, *options, f"--rootdir={folder.resolve()}", str(folder / path)]
    search = os.pathsep.join([str(folder.resolve()), str((folder / path).resolve().parent)])
    environment = {**os.environ, "STEPWELL_TVM_TESTS": str(record), "PYTHONPATH": search}
    try:
        done = subprocess.run(
            command, env=environment, cwd=record.parent, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the file runs longer than {seconds:.0f} s"
    return "is not collected" if done.returncode in range(6) else f"the process ends with status {done.returncode}"


def outcome_of(outcome: str, text: str) -> Outcome:
    """The outcome of a report of pytest with the text of its error."""
    if outcome == "passed":
        return Outcome("passes")
    package = _SKIP_OF_PACKAGE.search(text)
    name = next(filter(None, package.groups()), "") if package else ""
    is_other = name not in ("", "tvm", "topi", "stepwell", "tvm_ffi")
    if outcome == "skipped":
        return Outcome("skipped", text)
    if is_other and "ModuleNotFoundError" in text:
        return Outcome("package", name)
    return Outcome("numbers" if _NUMBERS.search(text) else "fails", last_error(text))


def last_error(text: str) -> str:
    """The last error of a traceback: `ValueError: ...`."""
    pattern = re.compile(r"^E?\s*(?:[\w]+\.)*(\w*(?:Error|Exception|Exit|Interrupt|TimeoutExpired)\b.*|assert .*)")
    found = [match[1] for match in map(pattern.match, text.splitlines()) if match]
    return re.sub(r" \(/[^)]*\)|0x[0-9a-f]+", "", found[-1]).strip() if found else text.strip()[-200:]


def run_all(folder: Path, paths: Sequence[Path], seconds: float, jobs: int) -> dict[Path, dict[str, Outcome]]:
    """The outcomes of the functions of each file."""
    outcomes: dict[Path, dict[str, Outcome]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for path, found in zip(paths, pool.map(lambda path: run(folder, path, seconds), paths), strict=True):
            outcomes[path] = found
            counts = Counter(outcome.kind for outcome in found.values())
            print(f"{path}: {', '.join(f'{counts[kind]} {kind}' for kind in ORDER if counts[kind])}", flush=True)
    return outcomes


# The page


def table(outcomes: Mapping[Path, Mapping[str, Outcome]], elsewhere: Mapping[str, int]) -> str:
    """The outcomes: their sum, a row for each file, the frequent errors, and the functions that are not counted."""
    kinds = ("passes", "fails", "numbers", "package", "skipped")
    counts = {path: Counter(outcome.kind for outcome in each.values()) for path, each in outcomes.items()}
    total = sum(counts.values(), Counter[str]())
    errors = Counter(
        each.reason for found in outcomes.values() for each in found.values() if each.kind in ("fails", "numbers")
    )
    return "\n".join(
        [
            f"| file | share | {' | '.join(kinds)} |",
            f"|---|---:|{'---:|' * len(kinds)}",
            _row("all", total, kinds),
            *(_row(f"`{path}`", each, kinds) for path, each in counts.items()),
            "",
            "| functions | frequent error |",
            "|---:|---|",
            *(f"| {number} | {_cell(error)} |" for error, number in errors.most_common(20)),
            "",
            "| functions | not counted: they test |",
            "|---:|---|",
            *(f"| {number} | {need} |" for need, number in elsewhere.items() if number),
        ]
    )


def _row(name: str, counts: Counter[str], kinds: Sequence[str]) -> str:
    counted = counts["passes"] + counts["fails"] + counts["numbers"]
    share = f"{100 * counts['passes'] // counted} %" if counted else ""
    return f"| {name} | {share} | {' | '.join(str(counts[kind]) for kind in kinds)} |"


def _cell(text: str) -> str:
    return text[:140].replace("|", "\\|").replace("<", "&lt;")


def page_with(text: str, content: str) -> str:
    """A page with a table between its marks."""
    return replace_between_marks(text, BEGIN, END, content)


def main() -> None:
    """Runs the tests of the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Runs TVM's tests, and writes their outcomes to docs/tvm.md.")
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--errors", type=Path, help="a file for the error of each function")
    options = parser.parse_args()
    paths = files(options.folder)
    elsewhere: Counter[str] = Counter()
    for path in paths:
        need = need_of(path)
        if need is not None:
            elsewhere[need] += len(functions(options.folder / path))
    chosen = [path for path in paths if need_of(path) is None and options.only in str(path)]
    outcomes = run_all(options.folder, chosen, options.seconds, options.jobs)
    print(table(outcomes, elsewhere))
    if options.errors:
        rows = [
            f"{path}::{name}: {each.kind}: {each.reason}"
            for path, found in outcomes.items()
            for name, each in found.items()
        ]
        options.errors.write_text("\n".join(rows) + "\n")
    if not options.only:
        PAGE.write_text(page_with(PAGE.read_text(), table(outcomes, elsewhere)))


if __name__ == "__main__":
    main()
