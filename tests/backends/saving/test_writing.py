"""Writing of archives: writers that are killed at any step, and writers at the same time."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from stepwell.backends.saving import scratch, writing
from stepwell.backends.saving.format import Archive, Contents
from stepwell.backends.saving.writing import write_archive
from stepwell.tools.warm_python import WarmPython

_WRITERS = """
import os
import sys
from pathlib import Path
from stepwell.backends.saving import scratch, writing
from stepwell.backends.saving.format import Archive, Contents

path, before, exchanges = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "True"
steps = 0


def write(text):
    writing.write_archive(path, Contents("test", {"text": text}, {"file": [text.encode() * 1000]}))


def kill_at(step):
    def count(function):
        def call(*arguments, **options):
            global steps
            steps += 1
            if steps == step:
                os._exit(9)
            return function(*arguments, **options)
        return call

    # Each step that changes the disk.
    for module, name in [(os, "open"), (os, "rename"), (os, "replace"), (scratch.shutil, "rmtree"), (Path, "mkdir"),
                         (Path, "open"), (writing, "_exchange")]:
        setattr(module, name, count(getattr(module, name)))


def state():
    try:
        return Archive(path, ("test",)).content["text"]
    except Exception as error:
        return str(error)


if not exchanges:
    writing._exchange = lambda one, other: False
for step in range(1, 100):
    if before:
        write(before)
    process = os.fork()
    if not process:
        kill_at(step)
        write("new")
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0:
        break
    print(state())
    write("next")
    assert os.listdir(path.parent) == [path.name], os.listdir(path.parent)
    scratch.shutil.rmtree(path) if path.is_dir() else path.unlink()
"""


def states_after_kills(python: WarmPython, path: Path, before: str, exchanges: bool = True) -> list[str]:
    """The state of an archive after its writer was killed at its first step, at its second, and so on: `new`, the text
    of the archive `before`, or an error. Asserts that the next writer leaves nothing but its archive."""
    done = python.run("-c", _WRITERS, str(path), before, str(exchanges))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def write(path: Path, text: str) -> None:
    write_archive(path, Contents("test", {"text": text}, {"file": [text.encode() * 1000]}))


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_writer_that_is_killed_leaves_the_old_archive_or_the_new_one(
    warm_python: WarmPython, path: Path, exchanges: bool
) -> None:
    if path.suffix == ".tar" and not exchanges:
        pytest.skip("a tar is replaced by one rename")
    states = states_after_kills(warm_python, path, "old", exchanges)
    assert set(states) == {"old", "new"}
    assert states == sorted(states, reverse=True)


def test_a_first_writer_that_is_killed_leaves_nothing_or_the_new_archive(warm_python: WarmPython, path: Path) -> None:
    states = states_after_kills(warm_python, path, "")
    assert set(states) == {f"{path}: there is nothing", "new"}


def test_the_folder_of_a_live_writer_is_left_alone(path: Path) -> None:
    with scratch.scratch_folder(path) as folder:
        (folder / scratch.NEW).mkdir()
        write(path, "other")
        assert (folder / scratch.NEW).is_dir()
    assert os.listdir(path.parent) == [path.name]


def test_folders_of_others_are_left_alone(path: Path) -> None:
    others = [f".{path.name}.12345678", f".{path.name}.1234567", f".{path.name}.12345678.old", ".other.12345678"]
    for name in others:
        (path.parent / name).mkdir()
    (path.parent / others[0] / "mine").touch()
    (path.parent / f".{path.name}.abcdefab").touch()
    write(path, "new")
    assert sorted(os.listdir(path.parent)) == sorted([*others, path.name, f".{path.name}.abcdefab"])


def test_file_systems_without_locks_are_written_and_never_cleaned(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with scratch.scratch_folder(path) as folder:
        write(path, "new")
        assert folder.is_dir()
    assert Archive(path, ("test",)).content == {"text": "new"}


def test_folders_are_exchanged_in_one_step(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not writing._exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("the file system cannot exchange")
    assert os.listdir(tmp_path / "a") == ["b"]
    with pytest.raises(FileNotFoundError):
        writing._exchange(tmp_path / "a", tmp_path / "c")
