"""`stepwell fuzz`: the command line."""

from __future__ import annotations

import argparse
import os
import random
import signal
from collections.abc import Sequence
from pathlib import Path

from ...core.cache import VARIABLE
from ...core.errors import OptionError
from .campaign import Campaign
from .case import Finding, load_finding
from .families import FAMILIES
from .random_tests import FAMILY, RandomTests, fails_again
from .search import replay

FINDINGS = Path("fuzz-findings")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell fuzz` to a parser."""
    parser.description = "search for programs that a stage of the compiler treats wrongly"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    width = max(map(len, FAMILIES)) + 2
    parser.epilog = "families:\n" + "\n".join(f"  {each.name:{width}}{each.summary}" for each in FAMILIES.values())
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, help="the budget (default 10)")
    add("--seed", type=int, help="repeats a search, up to the number of cases (default: random)")
    add("--family", action="append", choices=tuple(FAMILIES), help="a family to search (default: all)")
    add("--jobs", type=int, default=2, help="the number of processes (default 2)")
    add("--corpus", type=Path, default=FINDINGS, metavar="FOLDER", help=f"of findings (default {FINDINGS})")
    add("--tests", action="append", metavar="PATH", help="random tests of a checkout, to run as well")
    add("--replay", type=Path, metavar="FILE.json", help="check the input of one finding again")
    parser.set_defaults(command=fuzz_command)


def fuzz_command(options: argparse.Namespace) -> int:
    """Runs the `fuzz` command; returns 1 if there is a failure."""
    if options.replay is not None:
        return _replay_one(load_finding(options.replay))
    if options.minutes <= 0 or options.jobs < 1:
        raise OptionError(f"--minutes {options.minutes:g}, --jobs {options.jobs}: expected numbers above 0")
    os.environ[VARIABLE] = "off"  # each case is compiled, and its program is not kept
    # A shell starts background processes with this signal ignored, and so would all tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    _print(f"seed {seed}")
    failing = _replay_all(options.corpus)
    tests = RandomTests(options.tests) if options.tests else None
    families = options.family or list(FAMILIES)
    known = {finding.kind for finding in failing}
    campaign = Campaign(families, options.corpus, seed, 60 * options.minutes, options.jobs, _print, tests, known)
    campaign.run()
    _print(campaign.summary())
    _print_reproductions(options.corpus, [*failing, *campaign.findings])
    return 1 if failing or campaign.findings else 0


def _print(text: str) -> None:
    print(text, flush=True)


def _replay_one(finding: Finding) -> int:
    if not finding.blob:
        raise OptionError(f"{finding.kind}: the finding holds an input for people, but no record to replay")
    error = replay(FAMILIES[finding.family], finding)
    _print("passes now" if error is None else error)
    return 0 if error is None else 1


def _replay_all(corpus: Path) -> list[Finding]:
    """The findings in a folder that still fail; deletes the files of the others."""
    failing: list[Finding] = []
    for path in sorted(corpus.glob("*.json")):
        finding = load_finding(path)
        if finding.family == FAMILY:
            fails = fails_again(finding)
        else:
            fails = not finding.blob or replay(FAMILIES[finding.family], finding) is not None
        if not fails:
            _print(f"passes now, and is deleted: {finding.kind}")
            finding.delete(corpus)
        else:
            _print(f"known: {finding.kind}")
            failing.append(finding)
    return failing


def _print_reproductions(corpus: Path, findings: Sequence[Finding]) -> None:
    for finding in findings:
        path = corpus / finding.name
        how = f"stepwell fuzz --replay {path}.json" if finding.blob else f"{path}.txt"
        _print(f"{finding.kind}\n    reproduce: {finding.text if finding.family == FAMILY else how}")
        if finding.reduced:
            _print(f"    program: {path}{finding.suffix}, reduced {path}.reduced{finding.suffix}")
