"""Saved programs as data of an object file, and of the library that a linker makes of it."""

from __future__ import annotations

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from llvmlite import binding as llvm
from llvmlite import ir

from ...core.errors import LoadError
from .format import Contents
from .writing import write_archive

SECTION = "stepwell_program"
"""The section of a file that holds a program: the length of an archive as a number of 8 bytes, and its bytes."""
_LENGTH = struct.Struct("<Q")
_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian


def write_object(path: Path, contents: Contents) -> None:
    """Writes an object file for this machine that holds an archive. A linker may make a shared library of it."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "program.tar"
        write_archive(archive, contents)
        data = archive.read_bytes()
    path.write_bytes(_object_file(_LENGTH.pack(len(data)) + data))


def read_object(path: Path) -> bytes | None:
    """The bytes of the archive that an object file or a shared library holds; None for another file.

    LoadError for a broken one, and for a library of several programs.
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
    try:
        data = _section(path.read_bytes(), SECTION)
    except (struct.error, IndexError) as error:
        raise LoadError(f"{path}: a broken ELF file: {error}") from error
    if data is None:
        return None
    length = _LENGTH.unpack_from(data)[0] if len(data) >= _LENGTH.size else None
    if length is None or len(data) != _LENGTH.size + length:
        raise LoadError(f"{path}: section {SECTION} has {len(data)} bytes, expected one program")
    return data[_LENGTH.size :]


def _section(image: bytes, wanted: str) -> bytes | None:
    """The bytes of a section of an ELF file of 64 bits; None if there is none. struct.error, IndexError."""
    (start,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<3H", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, start + n * size) for n in range(count)]
    text = headers[names][4]
    for name, _, _, _, offset, length in headers:
        if image[text + name : image.find(b"\0", text + name)].decode("latin-1") == wanted:
            return image[offset : offset + length]
    return None


def _object_file(data: bytes) -> bytes:
    """An object file with the bytes in the section."""
    module = ir.Module("program")
    module.triple = llvm.get_process_triple()
    text = ir.Constant(ir.ArrayType(ir.IntType(8), len(data)), bytearray(data))
    variable = ir.GlobalVariable(module, text.type, f"{SECTION}_data")
    variable.initializer = text  # pyright: ignore[reportAttributeAccessIssue]
    variable.global_constant = True
    variable.section = SECTION
    machine = llvm.Target.from_triple(module.triple).create_target_machine(reloc="pic")
    return machine.emit_object(llvm.parse_assembly(str(module)))
