"""Programs of relax as TVM 0.27 prints them: they are read, printed and read again, and compute TVM's numbers."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stepwell import StepwellError, VirtualMachine, build_relax, parse_tvmscript

HERE = Path(__file__).parent
SAMPLES = sorted((HERE.parent / "data" / "relax").glob("*.py"))

UNREAD = {
    "arange_fused": "a constant without a type",
    "nms_all": "a type with more rows than the result has",
}
"""The programs that cannot be read, with the reason."""
NOT_RUN = {
    "arange_legal": "a constant whose array is not in the text",
}
"""The programs that cannot be executed, with the reason."""


def check_round_trip(path: Path) -> None:
    mod = parse_tvmscript(path.read_text(), path.name)
    mod.verify()
    for style in ("classic", "0.27"):
        text = mod.script(style)
        assert parse_tvmscript(text).script(style) == text


def check_results(path: Path) -> None:
    main = VirtualMachine(build_relax(parse_tvmscript(path.read_text(), path.name)))["main"]
    with np.load(path.with_suffix(".npz")) as arrays:
        results = main(*numbered(arrays, "x"))
        for got, expected in zip(
            results if isinstance(results, tuple) else (results,), numbered(arrays, "y"), strict=True
        ):
            assert got.numpy().dtype == expected.dtype
            tolerance = 2e-3 if expected.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=1e-5)


def numbered(arrays, letter: str) -> Iterator[np.ndarray]:
    """The arrays whose names are a letter and a number, by this number."""
    count = sum(name.startswith(letter) for name in arrays)
    return (arrays[f"{letter}{n}"] for n in range(count))


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_programs_of_tvm_compute_its_numbers(path: Path) -> None:
    check_round_trip(path)
    check_results(path)


@pytest.mark.peer
def test_what_tvm_prints_now_is_read_and_computes_its_numbers(tvm_python: Path, tmp_path: Path) -> None:
    subprocess.run([tvm_python, HERE / "relax_record.py", tmp_path], capture_output=True, check=True)
    paths = [path for path in sorted(tmp_path.glob("*.py")) if path.stem not in UNREAD]
    assert len(paths) > 500
    for path in paths:
        check_round_trip(path)
        if path.with_suffix(".npz").exists() and path.stem not in NOT_RUN:
            check_results(path)
    for name in UNREAD:
        with pytest.raises(StepwellError):
            parse_tvmscript((tmp_path / f"{name}.py").read_text())
