"""Run pyright and hold that it looked at every file: what it cannot reach it leaves out in silence."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = tuple(sorted(init.parent.name for init in ROOT.glob("*/__init__.py")))


def link_package() -> None:
    """Make `build/typecheck/stepwell`, through which the tests' `import stepwell` is found without an install."""
    link = ROOT / "build/typecheck/stepwell"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to("../..", target_is_directory=True)


def python_files(*folders: str) -> int:
    return sum(len(list((ROOT / folder).rglob("*.py"))) for folder in folders)


def check(project: str, expected: int) -> bool:
    """Whether pyright finds nothing wrong in the `expected` files that the configuration in `project` names."""
    command = (sys.executable, "-m", "pyright", "--outputjson", "--project", project)
    pyright = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not pyright.stdout.startswith("{"):
        print(pyright.stdout, pyright.stderr, sep="\n")
        return False
    report = json.loads(pyright.stdout)
    errors = [item for item in report["generalDiagnostics"] if item["severity"] == "error"]
    for item in errors:
        start, file = item["range"]["start"], Path(item["file"]).relative_to(ROOT)
        message = item["message"].partition("\n")[0]
        print(f"{file}:{start['line'] + 1}:{start['character'] + 1}: {message} ({item.get('rule', 'syntax')})")
    checked = report["summary"]["filesAnalyzed"]
    print(f"pyright --project {project}: {checked} files of {expected}, {len(errors)} errors")
    return not errors and checked == expected


def main() -> int:
    link_package()
    projects = {folder: python_files(folder) for folder in ("tests", "examples/extending", "examples/external_library")}
    projects = {".": python_files(*SOURCE) + len(list(ROOT.glob("*.py"))), **projects}
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(check, projects, projects.values()))
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
