"""Programs that are not read back from their texts are found."""

import pytest

from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing import texts
from stepwell.tools.testing.scheduling import program


def test_each_style_is_read_for_some_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    styles: list[str] = []
    script = Module.script
    monkeypatch.setattr(Module, "script", lambda module, style: styles.append(style) or script(module, style))
    for number in range(8):
        texts.check_texts(parse_tvmscript(program(f"D[{number}] = A[{number}] + T.float32({number})")))
    assert {*styles} == {"classic", "0.27"}


def test_another_program_from_a_text_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    module, other = (parse_tvmscript(program(f"D[{number}] = T.float32(7.25)")) for number in (1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(texts, "parse_mlir", lambda text: other)
        with pytest.raises(AssertionError, match="the MLIR text is read back as another program"):
            texts.check_texts(module)
    with monkeypatch.context() as patch:
        patch.setattr(texts, "parse_tvmscript", lambda text: other)
        with pytest.raises(AssertionError, match="script is read back as another program"):
            texts.check_texts(module)
    texts.check_texts(module)
