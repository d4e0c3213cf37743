"""Run pyright and hold that it looked at every file: what it cannot reach it leaves out in silence."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("backends", "core", "dialects", "frontends", "tests", "tools", "transforms")


def link_package() -> None:
    """Make `build/typecheck/stepwell`, through which the tests' `import stepwell` is found without an install."""
    link = ROOT / "build/typecheck/stepwell"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to("../..", target_is_directory=True)


def python_files() -> set[Path]:
    return {*ROOT.glob("*.py"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))}


def main() -> int:
    link_package()
    pyright = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson"], cwd=ROOT, capture_output=True, text=True
    )
    if not pyright.stdout.startswith("{"):
        print(pyright.stdout, pyright.stderr, sep="\n")
        return 1
    report = json.loads(pyright.stdout)
    errors = [item for item in report["generalDiagnostics"] if item["severity"] == "error"]
    for item in errors:
        start = item["range"]["start"]
        file = Path(item["file"]).relative_to(ROOT)
        print(f"{file}:{start['line'] + 1}:{start['character'] + 1}: {item['message']} ({item.get('rule', 'syntax')})")
    checked, expected = report["summary"]["filesAnalyzed"], len(python_files())
    if checked != expected:
        print(f"pyright checked {checked} files, expected {expected}")
    print(f"pyright: {checked} files, {len(errors)} errors")
    return 1 if errors or checked != expected else 0


if __name__ == "__main__":
    sys.exit(main())
