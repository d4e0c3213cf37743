"""Reading of the files of archives: tars of any content, and archives that change while they are read."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import LoadError
from stepwell.backends.runtime import Program
from stepwell.backends.saving.files import MANIFEST, open_files
from stepwell.backends.saving.format import Archive

ADD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] + {}
"""


def add(number: float) -> Program:
    return stepwell.build(stepwell.parse_tvmscript(ADD.format(number)))


def result(program: Program) -> float:
    a = np.zeros(8, "float32")
    program(a)
    return float(a[0])


def header(name: str, size: bytes, kind: bytes = b"0") -> bytes:
    """The header of a member of a tar, with any bytes as its size."""
    info = tarfile.TarInfo(name)
    info.type = kind
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT)[:512])
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def base_256(size: int) -> bytes:
    return (b"\xff" if size < 0 else b"\x80") + (size % 256**11).to_bytes(11, "big")


# Tars


@pytest.mark.parametrize("format_", [tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_of_other_tools_is_read(tmp_path: Path, format_: int) -> None:
    add(1.5).export(tmp_path / "out")
    with tarfile.open(tmp_path / "out.tar", "w", format=format_, pax_headers={"comment": "ä"}) as tar:
        tar.add(tmp_path / "out", "folder")
        for file in (tmp_path / "out").iterdir():
            tar.add(file, file.name)
    assert result(Program.load(tmp_path / "out.tar")) == 1.5


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (base_256(-512), "-512"),
        (base_256(-1024), "-1024"),
        (base_256(2**62), str(2**62)),
        (b"77777777777\0", str(8**11 - 1)),
        (b"00000001001\0", "513"),
    ],
)
def test_a_member_of_an_impossible_size_is_refused(tmp_path: Path, size: bytes, text: str) -> None:
    path = tmp_path / "out.tar"
    path.write_bytes(header("weights", b"00000001000\0") + bytes(512) + header("code.o", size) + bytes(512))
    for load in (Program.load, stepwell.Executable.load):
        with pytest.raises(LoadError, match=rf"out\.tar: code\.o has {text} bytes, expected 0 to 512"):
            load(path)
    with pytest.raises(stepwell.OptionError, match="there is something else"):
        add(1).export(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header("a", b"-0000001000\0"), "a header with the number b'-0000001000.* at byte 0"),
        (header("a", b"0x000001000\0"), "a header with the number"),
        (header("a", b"00000000000\0")[:300], "a header of 300 bytes, expected 512 at byte 0"),
        (header("a", b"00000000000\0").replace(b"a", b"b", 1), "a header with a wrong checksum at byte 0"),
        (2 * header(MANIFEST, b"00000000000\0"), f"{MANIFEST} is there twice"),
        (header(MANIFEST, b"00000000000\0", tarfile.SYMTYPE), f"no {MANIFEST} there"),
        (b"", f"no {MANIFEST} there"),
    ],
)
def test_a_broken_tar_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "out.tar"
    path.write_bytes(content)
    with pytest.raises(LoadError, match=rf"out\.tar: .*{message}"):
        Program.load(path)


def test_a_pipe_is_no_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tar")
    with pytest.raises(LoadError, match="no folder and no tar"):
        Program.load(tmp_path / "pipe.tar")


def test_the_length_of_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    add(1).export(tmp_path / "out")
    with open_files(tmp_path / "out") as files:
        (tmp_path / "out" / "code.o").write_bytes(b"short")
        assert files["code.o"].read().tobytes() == b"short"


# Archives that change


def test_an_archive_that_is_replaced_while_it_is_read_is_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(1).export(path)
    check = Archive._check_manifest

    def replace_then_check(self: Archive, *arguments: Any) -> None:
        add(2).export(path)
        check(self, *arguments)

    monkeypatch.setattr(Archive, "_check_manifest", replace_then_check)
    assert result(Program.load(path)) == 1
    monkeypatch.undo()
    assert result(Program.load(path)) == 2


def test_files_that_the_manifest_does_not_list_are_not_used(tmp_path: Path, edit: Callable[..., None]) -> None:
    add(1).export(tmp_path / "out")
    edit(tmp_path / "out", lambda said: said.update(files={}))
    with pytest.raises(LoadError, match=r"stepwell\.json does not list code\.o"):
        Program.load(tmp_path / "out")
    edit(tmp_path / "out", lambda said: said.update(files={"../out/code.o": {"bytes": 0, "sha256": ""}}))
    with pytest.raises(LoadError, match=r"\.\./out/code\.o is missing"):
        Program.load(tmp_path / "out")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts the descriptors in /proc")
def test_loaded_graphs_keep_no_descriptors(tmp_path: Path) -> None:
    mod = stepwell.parse_mlir(
        'relay.func @main() {\n  %w = relay.constant "w" : tensor<3xf32>\n  relay.return %w : tensor<3xf32>\n}'
    )
    mod.constants["w"] = np.ones(3, "float32")
    stepwell.build_graph(mod).save(tmp_path / "out")
    before = len(os.listdir("/proc/self/fd"))
    graphs = [stepwell.Executable.load(tmp_path / "out") for _ in range(3)]
    assert len(os.listdir("/proc/self/fd")) == before
    del graphs


# Manifests


def test_a_manifest_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    add(1).export(tmp_path / "out")
    (tmp_path / "out" / MANIFEST).write_text("[" * 200_000)
    with pytest.raises(LoadError, match=r"out: stepwell\.json is broken: nested too deeply"):
        Program.load(tmp_path / "out")
    (tmp_path / "out" / MANIFEST).write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(LoadError, match="nested too deeply"):
        Program.load(tmp_path / "out")
    with pytest.raises(LoadError, match="nested too deeply"):
        stepwell.Executable.load(tmp_path / "out")
