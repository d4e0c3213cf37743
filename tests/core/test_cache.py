"""The cache of the user: entries, their removal, and writers that fail or are killed."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.cache import VARIABLE, Cache, digest, user_cache
from stepwell.core.errors import OptionError


def _add(cache: Cache, key: str, content: str = "content") -> None:
    cache.add("kind", key, lambda path: path.write_text(content))


def _age(cache: Cache, key: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(cache.folder / "kind" / key, (then, then))


def test_an_entry_is_found_after_it_is_added(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new" / "folder")
    assert cache.find("kind", "a") is None
    _add(cache, "a")
    path = cache.find("kind", "a")
    assert path is not None
    assert path.read_text() == "content"
    assert cache.find("other", "a") is None


def test_only_the_owner_can_write_to_the_folder_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        _add(Cache(tmp_path / "folder"), "a")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "folder", tmp_path / "folder" / "kind")} == {0o700}


def test_the_entries_used_longest_ago_are_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=25)
    for n, key in enumerate("ab"):
        _add(cache, key, "x" * 10)
        _age(cache, key, 100 - n)
    cache.find("kind", "a")  # now `b` is the one used longest ago
    _add(cache, "c", "x" * 10)
    assert sorted(entry.path.name for entry in cache.entries()) == ["a", "c"]
    assert [entry.size for entry in cache.entries()] == [10, 10]


def test_a_content_is_read_as_it_was_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for content in (b"", b"content", bytes(1000)):
        cache.keep("kind", "a", content)
        assert cache.read("kind", "a") == content
    assert cache.read("kind", "b") is None


@given(position=st.integers(0, 70), bits=st.integers(1, 255), length=st.integers(0, 70))
def test_a_damaged_content_is_not_read(position: int, bits: int, length: int, tmp_path_factory: Any) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"))
    cache.keep("kind", "a", b"content")
    path = cache.folder / "kind" / "a"
    file = bytearray(path.read_bytes())
    file[position] ^= bits
    for damaged in (bytes(file), path.read_bytes()[:length], b""):
        path.write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match="cache: a kind is made again: .* is damaged"):
            assert cache.read("kind", "a") is None


def test_clear_removes_all_entries(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for key in "ab":
        _add(cache, key, "x" * 10)
    assert cache.clear() == 20
    assert cache.entries() == []


def test_an_entry_that_cannot_be_written_is_not_added(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("disk full")

    cache = Cache(tmp_path)
    with pytest.warns(RuntimeWarning, match=r"cache: a kind is not kept: disk full \(STEPWELL_CACHE names"):
        cache.add("kind", "a", fail)
    assert list((tmp_path / "kind").iterdir()) == []


def test_a_writer_that_is_killed_leaves_no_entry(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys\n"
        "from stepwell.core.cache import Cache\n"
        "def die(path):\n"
        "    path.write_text('half')\n"
        "    os._exit(9)\n"
        "Cache(pathlib.Path(sys.argv[1])).add('kind', 'a', die)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 9
    cache = Cache(tmp_path)
    assert cache.find("kind", "a") is None
    (partial,) = (tmp_path / "kind").iterdir()
    assert cache.entries() == []
    assert partial.exists()  # its process could still run
    os.utime(partial, (0, 0))
    assert cache.entries() == []
    assert not partial.exists()


def test_readers_never_see_a_partial_entry(tmp_path: Path) -> None:
    """Two processes write an entry again and again while this one reads it."""
    program = (
        "import pathlib, sys\n"
        "from stepwell.core.cache import Cache\n"
        "for _ in range(150):\n"
        "    Cache(pathlib.Path(sys.argv[1])).add('kind', 'a', lambda path: path.write_bytes(bytes(100_000)))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
    cache, sizes = Cache(tmp_path), set[int]()
    while any(writer.poll() is None for writer in writers):
        path = cache.find("kind", "a")
        if path is not None:
            sizes.add(len(path.read_bytes()))
    assert [writer.wait() for writer in writers] == [0, 0]
    path = cache.find("kind", "a")
    assert path is not None
    assert sizes | {path.stat().st_size} == {100_000}
    assert len(list((tmp_path / "kind").iterdir())) == 1


def test_keys_differ_where_parts_differ() -> None:
    keys = {digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("abc", ""), digest(memoryview(b"abc"), "d")}
    assert len(keys) == 5
    assert digest("abc") == digest(memoryview(b"abc"))


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert user_cache() is None
    monkeypatch.setenv(VARIABLE, "some/folder")
    with pytest.raises(OptionError, match="STEPWELL_CACHE is 'some/folder', expected an absolute path or off"):
        user_cache()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "folder"))
    cache = user_cache()
    assert cache is not None
    assert cache.folder == tmp_path / "folder"
    assert user_cache() is cache


def test_the_default_folder_is_in_the_cache_directory_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, folder in (("", ".cache"), ("relative", ".cache"), (str(tmp_path / "x"), "x")):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        cache = user_cache()
        assert cache is not None
        assert cache.folder == tmp_path / folder / "stepwell"


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setenv(VARIABLE, str(folder))
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="is not used: its mode is 777, expected 700"):
        assert user_cache() is None
    folder.chmod(0o755)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match="is not used: its owner is the user"):
        assert user_cache() is None
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="is not used: expected a folder"):
        assert user_cache() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
        assert user_cache() is not None
