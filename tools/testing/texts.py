"""Checks that the texts of a module are read back as the same module."""

from hashlib import sha256

from ...frontends.mlir import parse_mlir
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module

_STYLES = ("classic", "0.27")
_read = set[bytes]()
"""The digests of the MLIR texts that have been checked in this process."""


def check_texts(module: Module) -> None:
    """Raises AssertionError unless a module is read back from its MLIR text and from its TVMScript.

    The MLIR text determines the style of the script, so that each style is read for half of the programs. A program
    with the text of an earlier one is not checked again.
    """
    text = str(module)
    digest = sha256(text.encode()).digest()
    if digest in _read:
        return
    assert str(parse_mlir(text)) == text, "the MLIR text is read back as another program"
    style = _STYLES[digest[0] % len(_STYLES)]
    script = module.script(style)
    assert parse_tvmscript(script).script(style) == script, f"the {style} script is read back as another program"
    _read.add(digest)
