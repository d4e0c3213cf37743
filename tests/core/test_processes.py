"""Work that forked processes share: in new processes, because those of the tests have several threads."""

import os
import subprocess
import sys
import threading

import pytest

from stepwell.core import processes

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system makes no children that work")

_HEAD = """
import atexit
import os
import signal
import sys
import threading
import time
import warnings

from stepwell.core.processes import shared_results

PARENT = os.getpid()


def is_child():
    return os.getpid() != PARENT


def wait_for(*paths):
    while not all(map(os.path.exists, paths)):
        time.sleep(0.001)


def is_alive(process):
    try:
        return "Z" not in open(f"/proc/{process}/stat").read()
    except (FileNotFoundError, ProcessLookupError):
        return False


def squares(numbers):
    for number in numbers:
        yield number, number**2


def has_no_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False
"""


def run(program: str, *options: str, cwd: object = None) -> str:
    """What a program prints in a new process, which ends well and reports nothing else."""
    command = [sys.executable, *options, "-c", _HEAD + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=str(cwd) if cwd else None)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


EACH_TAKES_ONE = """
def work(numbers):
    for number in numbers:  # each process takes one number, and waits until the others have theirs
        open(str(number), "w").close()
        wait_for("0", "1", "2")
        yield number, os.getpid()
"""


def test_each_process_takes_the_next_item_and_results_are_in_order(tmp_path) -> None:
    program = f"{EACH_TAKES_ONE}\nprint(len(set(shared_results(work, [2, 0, 1], 3))), has_no_children())"
    assert run(program, "-W", "error", cwd=tmp_path) == "3 True\n"
    assert (
        run("print([shared_results(squares, [2, 3, 0, 1], count) for count in (1, 2, 9)])") == f"{[[0, 1, 4, 9]] * 3}\n"
    )


def test_an_error_is_that_of_the_first_item_with_one_in_this_process() -> None:
    program = """
class Failure(Exception):
    def __init__(self, number, process):
        super().__init__(f"item {number}")
        self.process = process


def work(numbers):
    for number in numbers:
        if number in (3, 5):
            raise Failure(number, os.getpid())
        yield number, number

for count in (1, 2, 3):
    try:
        shared_results(work, [5, 0, 1, 3, 2, 4], count)
    except Failure as error:
        print(error, error.process == PARENT, has_no_children())
"""
    assert run(program, "-W", "error") == "item 3 True True\n" * 3


DIES = """
def work(numbers):
    for number in numbers:
        if is_child():
            open("child", "w").close()
            yield number, number
            os.kill(os.getpid(), signal.SIGKILL)
        wait_for("child")
        yield number, number
"""


def test_the_work_of_a_process_that_dies_is_done_here_with_a_warning(tmp_path) -> None:
    program = f"""{DIES}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(shared_results(work, range(20), 2) == list(range(20)), *(each.message for each in caught))
"""
    assert (
        run(program, cwd=tmp_path) == "True a process that compiles has ended by signal 9: this process does its work\n"
    )
    raised = f"""{DIES}
try:
    shared_results(work, range(20), 2)
except RuntimeWarning:
    print(has_no_children())
"""
    (tmp_path / "child").unlink()
    assert run(raised, "-W", "error", cwd=tmp_path) == "True\n"


def test_an_interrupt_ends_the_children(tmp_path) -> None:
    program = """
def work(numbers):
    for number in numbers:
        if is_child():
            open("child", "w").close()
            time.sleep(1000)
        wait_for("child")
        os.killpg(0, signal.SIGINT)  # as a terminal does
        yield number, number

signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run where interrupts are ignored
os.setpgid(0, 0)
try:
    shared_results(work, range(4), 3)
except KeyboardInterrupt:
    print(has_no_children())
"""
    assert run(program, cwd=tmp_path) == "True\n"


def test_a_child_runs_no_handler_of_its_parent_and_writes_none_of_its_buffers(tmp_path) -> None:
    program = f"""{EACH_TAKES_ONE}
atexit.register(print, "once, at the exit")
signal.signal(signal.SIGTERM, lambda *_: print("never"))
file = open("file", "w")
file.write("buffer ")
print("in a buffer")
shared_results(work, range(3), 3)
file.close()
print(open("file").read())
"""
    assert run(program, cwd=tmp_path) == "in a buffer\nbuffer \nonce, at the exit\n"


def test_a_child_whose_end_other_code_takes_leaves_its_results(tmp_path) -> None:
    for handler in ("signal.SIG_IGN", "lambda *_: os.waitpid(-1, os.WNOHANG)"):
        program = f"""{EACH_TAKES_ONE}
signal.signal(signal.SIGCHLD, {handler})
print(len(set(shared_results(work, range(3), 3))))
"""
        folder = tmp_path / str(len(handler))
        folder.mkdir()
        assert run(program, cwd=folder) == "3\n"


def test_a_child_ends_after_its_parent(tmp_path) -> None:
    program = """
def work(numbers):
    for number in numbers:
        if not is_child():
            wait_for("child")
            os.kill(os.getpid(), signal.SIGKILL)
        open("written", "w").write(str(os.getpid()))
        os.rename("written", "child")
        while os.getppid() == PARENT:
            time.sleep(0.001)
        yield number, number

if not (process := os.fork()):
    PARENT = os.getpid()
    shared_results(work, range(50), 2)
os.waitpid(process, 0)
child = int(open("child").read())
while is_alive(child):
    time.sleep(0.001)
"""
    assert run(program, cwd=tmp_path) == ""


def test_a_process_that_cannot_fork_does_all_work() -> None:
    program = """
def fail():
    raise BlockingIOError("no more processes")

os.fork = fail
print(shared_results(squares, range(3), 3))
"""
    assert run(program) == "[0, 1, 4]\n"


def test_a_process_with_several_threads_makes_no_children() -> None:
    assert run("from stepwell.core.processes import can_fork; print(can_fork())") == "True\n"
    stopped = threading.Event()
    thread = threading.Thread(target=stopped.wait)
    thread.start()
    try:
        assert not processes.can_fork()
        assert (
            processes.shared_results(lambda numbers: ((n, os.getpid()) for n in numbers), range(3), 3)
            == [os.getpid()] * 3
        )
    finally:
        stopped.set()
        thread.join()


def test_a_signal_handler_forks_while_its_thread_compiles() -> None:
    program = """
from stepwell.backends.llvm import engine

with engine._compiling():
    process = os.fork()
    if not process:
        os._exit(0)
    print(os.waitpid(process, 0)[1])
"""
    assert run(program) == "0\n"
