"""`WarmPython`: programs of Python in processes of their own, without the time of imports."""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from select import select
from signal import SIGKILL
from types import ModuleType
from typing import Any, NoReturn

_PACKAGES = ("stepwell", "xdsl", "numpy", "lark", "llvmlite", "ml_dtypes", "islpy")
"""The packages whose modules the parent imports once a program has imported them."""


class WarmPython:
    """A process that has imported Stepwell and forks for each program: half a second less than a new interpreter.

    A program finds the modules that programs before it have imported already imported, and no other trace of them. A
    program that is about imports, the options of the interpreter or its end needs a new interpreter.
    """

    def __init__(self, environment: Mapping[str, str] | None = None):
        """environment: variables beside those of this process, for the parent and all programs."""
        self._server = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        weakref.finalize(self, _end, self._server)

    def run(
        self,
        *command: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        errors_to_output: bool = False,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Runs `python` with arguments: `-c CODE`, `-m MODULE` or a file, and those of the program. What it prints is
        captured, its input is empty.

        cwd: its working folder.  environment: further variables.  errors_to_output: whether standard error goes to
        standard output.  timeout: seconds, after which the program is killed and subprocess.TimeoutExpired is raised.
        """
        with tempfile.TemporaryDirectory(prefix="stepwell-") as folder:
            out, err = Path(folder, "out"), Path(folder, "out" if errors_to_output else "err")
            request = [command, str(cwd or Path.cwd()), {**(environment or {})}, str(out), str(err), folder, timeout]
            pipes: Any = self._server
            print(json.dumps(request), file=pipes.stdin, flush=True)
            status = json.loads(pipes.stdout.readline())
            errors = "" if errors_to_output else err.read_text()
            if status is None:
                raise subprocess.TimeoutExpired(command, timeout, out.read_text(), errors)
            return subprocess.CompletedProcess(command, status, out.read_text(), errors)


def _end(server: subprocess.Popen[str]) -> None:
    server.communicate()


# The parent


def _serve() -> None:
    for line in sys.stdin:
        command, cwd, environment, out, err, folder, timeout = json.loads(line)
        imported = Path(folder, "imported")
        child = os.fork()
        if child == 0:
            _become(command, cwd, environment, [out, err], imported)
        ended, _, _ = select([process := os.pidfd_open(child)], [], [], timeout)
        os.close(process)
        if not ended:
            os.kill(child, SIGKILL)
        _, status = os.waitpid(child, 0)
        for name in imported.read_text().split() if imported.exists() else ():
            import_module(name)
        print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None), flush=True)


def _become(command: list[str], cwd: str, environment: dict[str, str], files: list[str], imported: Path) -> NoReturn:
    """Runs a program in this process, and ends it. Writes the names of the modules of `_PACKAGES` that the program has
    imported to the file `imported`.
    """
    for number, file in enumerate((os.devnull, *files)):
        opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(cwd)
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    before = set(sys.modules)
    status = 0
    try:
        _execute(command)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    names = [name for name in set(sys.modules) - before if name.partition(".")[0] in _PACKAGES]
    imported.write_text("\n".join(sorted(names)))
    # As at the end of an interpreter.
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _execute(command: list[str]) -> None:
    main = sys.modules["__main__"] = ModuleType("__main__")
    match command:
        case ["-c", code, *arguments]:
            sys.argv, sys.path[0] = ["-c", *arguments], ""
            exec(compile(code, "<string>", "exec"), main.__dict__)
        case ["-m", module, *arguments]:
            sys.argv, sys.path[0] = [module, *arguments], os.getcwd()
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [file, *arguments]:
            sys.argv, sys.path[0] = [file, *arguments], str(Path(file).parent)
            runpy.run_path(file, run_name="__main__")
        case _:
            raise ValueError("expected -c CODE, -m MODULE or a file")


if __name__ == "__main__":
    _serve()
