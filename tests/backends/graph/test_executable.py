"""Saving and loading of compiled graphs."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import stepwell
from stepwell import LoadError, OptionError
from stepwell.backends.graph import Executable, GraphExecutor, build_graph
from stepwell.backends.llvm.engine import Processor
from stepwell.backends.runtime import Program
from stepwell.backends.saving import writing
from stepwell.tools.warm_python import WarmPython

Edit: TypeAlias = Callable[..., None]
ROWS = '#relay.sizes<"n">'
NET = f"""
relay.func @main("x" %x: tensor<?x8xf32, {ROWS}>) {{
  %w = relay.constant "w" : tensor<3x8xf32>
  %b = relay.constant "b" : tensor<3xbf16>
  %half = relay.constant 0.5 : tensor<f32>
  %0 = relay.nn.dense(%x, %w) : (tensor<?x8xf32, {ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {ROWS}>
  %1 = relay.nn.softmax(%0) : (tensor<?x3xf32, {ROWS}>) -> tensor<?x3xf32, {ROWS}>
  %2 = relay.multiply(%1, %half) : (tensor<?x3xf32, {ROWS}>, tensor<f32>) -> tensor<?x3xf32, {ROWS}>
  %3 = relay.cast(%b) {{dtype = "float32"}} : (tensor<3xbf16>) -> tensor<3xf32>
  %4 = relay.add(%2, %3) : (tensor<?x3xf32, {ROWS}>, tensor<3xf32>) -> tensor<?x3xf32, {ROWS}>
  relay.return %4 : tensor<?x3xf32, {ROWS}>, %b : tensor<3xbf16>
}}
"""


@pytest.fixture(scope="module")
def executable() -> Executable:
    import ml_dtypes

    mod = stepwell.parse_mlir(NET)
    rng = np.random.default_rng(0)
    mod.constants["w"] = rng.standard_normal((3, 8)).astype("float32")
    mod.constants["b"] = rng.standard_normal(3).astype(ml_dtypes.bfloat16)
    return build_graph(mod)


def run(executable: Executable, rows: int = 4) -> list[Any]:
    executor = GraphExecutor(executable)
    executor.run(x=np.linspace(-1, 1, rows * 8, dtype="float32").reshape(rows, 8))
    return [executor.get_output(n).copy() for n in range(executor.num_outputs)]


def assert_same(one: Executable, other: Executable) -> None:
    for a, b in zip(run(one), run(other), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


# Round trips


def test_a_graph_computes_the_same_after_it_was_saved(executable: Executable, path: Path) -> None:
    executable.save(path)
    loaded = Executable.load(path)
    assert_same(loaded, executable)
    for field in ("inputs", "outputs", "entry", "workspace", "unshared", "tensors", "steps", "returned"):
        assert getattr(loaded, field) == getattr(executable, field)
    assert str(loaded.graph) == str(executable.graph)
    assert [step.kernel for step in loaded.calls] == [time.kernel for time in kernels(loaded)]


def kernels(executable: Executable) -> list[Any]:
    executor = GraphExecutor(executable)
    executor.set_input(x=np.zeros((2, 8), "float32"))
    return executor.profile(1)


def test_what_was_loaded_can_be_saved_again(executable: Executable, path: Path, tmp_path: Path) -> None:
    executable.save(path)
    again = tmp_path / "again"
    Executable.load(path).save(again)
    assert_same(Executable.load(again), executable)


def test_another_process_runs_it(warm_python: WarmPython, executable: Executable, path: Path) -> None:
    executable.save(path)
    code = (
        "import sys, numpy as np\n"
        "from stepwell.backends.graph import Executable, GraphExecutor\n"
        "executor = GraphExecutor(Executable.load(sys.argv[1]))\n"
        "executor.run(x=np.linspace(-1, 1, 32, dtype='float32').reshape(4, 8))\n"
        "print(executor.get_output(0).tobytes().hex())\n"
    )
    done = warm_python.run("-c", code, str(path))
    assert done.stdout.strip() == run(executable)[0].tobytes().hex(), done.stderr


def test_constants_are_mapped_and_not_copied(executable: Executable, path: Path) -> None:
    executable.save(path)
    loaded = Executable.load(path)
    for name, array in loaded.constants.items():
        assert array.tobytes() == executable.constants[name].tobytes()
        assert array.ctypes.data % 64 == 0 or path.suffix == ".tar"
        owner: Any = array
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        assert type(owner).__name__ == "_Mapping"


def test_saved_bytes_depend_on_the_graph_alone(executable: Executable, tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar"):
        executable.save(tmp_path / name)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_libraries_are_found_again(warm_python: WarmPython, path: Path) -> None:
    pytest.importorskip("scipy_openblas32")
    text = """
relay.func @main("x" %x: tensor<4x8xf32>, "w" %w: tensor<3x8xf32>) {
  %0 = relay.nn.dense(%x, %w) : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  relay.return %0 : tensor<4x3xf32>
}
"""
    build_graph(stepwell.parse_mlir(text), target="llvm -libs=cblas").save(path)
    code = (
        "import sys, numpy as np\n"
        "from stepwell.backends.graph import Executable, GraphExecutor\n"
        "executor = GraphExecutor(Executable.load(sys.argv[1]))\n"
        "executor.run(x=np.ones((4, 8), 'float32'), w=np.ones((3, 8), 'float32'))\n"
        "assert (executor.get_output(0) == 8).all()\n"
    )
    done = warm_python.run("-c", code, str(path))
    assert done.returncode == 0, done.stderr


# Destinations


def test_what_was_saved_before_is_replaced(executable: Executable, path: Path) -> None:
    executable.save(path)
    executable.save(path)
    assert left_in(path.parent) == [path.name]
    assert_same(Executable.load(path), executable)


def test_nothing_else_is_ever_overwritten(executable: Executable, path: Path) -> None:
    if path.suffix == ".tar":
        path.write_bytes(b"mine")
    else:
        path.mkdir()
        (path / "mine").write_bytes(b"mine")
    with pytest.raises(OptionError, match=r"there is something else, expected a (tar|folder) saved by stepwell"):
        executable.save(path)
    assert left_in(path.parent) == [path.name]


def test_the_folder_around_it_must_exist(executable: Executable, path: Path) -> None:
    with pytest.raises(OptionError, match="does not exist"):
        executable.save(path.parent / "no" / path.name)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("stop", [OSError("no space left"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_what_was_there(
    executable: Executable, path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException, before: bool
) -> None:
    if before:
        executable.save(path)

    def fail(*args: Any) -> None:
        raise stop

    for name in ("checksum", "_replace_folder" if path.suffix != ".tar" else "_pack"):
        with monkeypatch.context() as patch:
            patch.setattr(writing, name, fail)
            with pytest.raises(type(stop)):
                executable.save(path)
        assert left_in(path.parent) == ([path.name] if before else [])
    if before:
        assert_same(Executable.load(path), executable)


def test_an_interrupted_replacement_leaves_the_old_one(
    executable: Executable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    executable.save(path)
    moves: list[Any] = []
    rename = os.rename

    def fail_second(source: Any, target: Any) -> None:
        moves.append(target)
        if len(moves) == 2:
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(writing, "_exchange", lambda one, other: False)
    monkeypatch.setattr(os, "rename", fail_second)
    with pytest.raises(OSError, match="no"):
        executable.save(path)
    assert left_in(tmp_path) == ["out"]
    assert_same(Executable.load(path), executable)


# Corrupt files


def test_a_graph_is_no_program(executable: Executable, path: Path) -> None:
    executable.save(path)
    with pytest.raises(LoadError, match="a graph, expected a library"):
        Program.load(path)


def test_what_is_not_there_or_none_of_ours_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="nowhere: there is nothing"):
        Executable.load(tmp_path / "nowhere")
    with pytest.raises(LoadError, match=r"no stepwell\.json there"):
        Executable.load(tmp_path)
    (tmp_path / "file").write_bytes(b"x" * 2000)
    with pytest.raises(LoadError, match="no folder and no tar"):
        Executable.load(tmp_path / "file")


@pytest.mark.parametrize("name", ["code.o", "constants.bin", "graph.mlir"])
def test_each_file_is_checked(executable: Executable, tmp_path: Path, name: str) -> None:
    path = tmp_path / "out"
    executable.save(path)
    content = (path / name).read_bytes()
    (path / name).write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(LoadError, match=rf"checksum of {name} is \w+, expected \w+"):
        Executable.load(path)
    (path / name).write_bytes(content[:-1])
    with pytest.raises(LoadError, match=f"{name} has {len(content) - 1} bytes, expected {len(content)}"):
        Executable.load(path)
    (path / name).unlink()
    with pytest.raises(LoadError, match=f"{name} is missing"):
        Executable.load(path)


def test_a_tar_that_is_cut_off_is_not_loaded(executable: Executable, tmp_path: Path) -> None:
    path = tmp_path / "out.tar"
    executable.save(path)
    content = path.read_bytes().rstrip(b"\0")  # without the padding
    for length in (0, 100, 600, len(content) // 2, len(content) - 100):
        path.write_bytes(content[:length])
        with pytest.raises(LoadError):
            Executable.load(path)


def test_the_manifest_is_checked(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    path = tmp_path / "out"
    executable.save(path)
    edit(path, lambda said: said["content"]["graph"].update(workspace=64), sign=False)
    with pytest.raises(LoadError, match=r"checksum of stepwell\.json is \w+, expected \w+"):
        Executable.load(path)
    (path / "stepwell.json").write_text("{")
    with pytest.raises(LoadError, match=r"stepwell\.json is broken"):
        Executable.load(path)
    (path / "stepwell.json").write_text("[]")
    with pytest.raises(LoadError, match=r"stepwell\.json is broken: expected an object, got list"):
        Executable.load(path)


def test_another_version_of_the_format_is_refused(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", lambda said: said.update(format=99, stepwell="7.0"))
    with pytest.raises(LoadError, match=r"format 99 of stepwell 7\.0, expected format 9"):
        Executable.load(tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["content"].pop("graph"),
        lambda said: said["content"]["graph"].pop("entry"),
        lambda said: said["content"]["code"]["functions"][0]["parameters"][0].update(kind="none"),
        lambda said: said["content"]["code"].update(failures={"1": {}}),
        lambda said: said["files"].pop("code.o") and said.update(files=None),
    ],
)
def test_a_manifest_of_another_form_is_an_error_that_says_so(
    executable: Executable, tmp_path: Path, edit: Edit, change: Callable[[dict[str, Any]], None]
) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", change)
    with pytest.raises(LoadError, match=r"stepwell\.json is broken: \w+Error"):
        Executable.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda graph: graph.pop("tensors"), "the tensors of the graph in stepwell"),
        (lambda graph: graph["constants"][0].update(offset=-128), "the constants of the graph in stepwell"),
        (lambda graph: graph["inputs"][0].update(dtype="float64"), "the inputs of the graph in stepwell"),
        (lambda graph: graph.update(workspace=1 << 62), "the workspace of the graph in stepwell"),
        (lambda graph: graph.update(entry="fused_copy"), "graph.mlir is broken: KeyError"),
        (lambda graph: graph.update(entry="other"), "graph.mlir is broken: KeyError"),
        (lambda graph: graph.update(more=1), "the more of the graph in stepwell"),
    ],
)
def test_the_manifest_describes_the_graph(
    executable: Executable, tmp_path: Path, edit: Edit, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", lambda said: change(said["content"]["graph"]))
    with pytest.raises(LoadError, match=message):
        Executable.load(tmp_path / "out")


def replace_file(path: Path, name: str, content: bytes) -> Callable[[dict[str, Any]], None]:
    """Replaces a file of an archive, and returns the change of the manifest."""
    (path / name).write_bytes(content)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return lambda said: said["files"].update({name: entry})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"w" : tensor<3x8xf32>', '"w" : tensor<3x9xf32>', "graph.mlir is broken: "),
        ("relay.workspace = 0", "relay.workspace = 64", "the workspace of the graph"),
        ("relay.return", "relay.jump", "graph.mlir is broken: ParseError"),
        ("tensor<3xbf16>", "tensor<3xf16>", "of the graph in stepwell.json are not those of graph.mlir"),
    ],
)
def test_the_graph_is_that_of_the_manifest(
    executable: Executable, tmp_path: Path, edit: Edit, old: str, new: str, message: str
) -> None:
    path = tmp_path / "out"
    executable.save(path)
    text = (path / "graph.mlir").read_text()
    assert old in text
    edit(path, replace_file(path, "graph.mlir", text.replace(old, new).encode()))
    with pytest.raises(LoadError, match=message):
        Executable.load(path)


def test_the_graph_is_that_of_the_code(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    """A graph whose description and text agree, with the code of another graph."""
    path = tmp_path / "out"
    executable.save(path)
    other = stepwell.parse_mlir(NET.replace("3x8", "5x8").replace("<3x", "<5x").replace("?x3", "?x5"))
    other.constants.update(w=np.zeros((5, 8), "float32"), b=np.zeros(5, executable.constants["b"].dtype))
    build_graph(other).save(tmp_path / "other")
    for name in ("graph.mlir", "constants.bin"):
        edit(path, replace_file(path, name, (tmp_path / "other" / name).read_bytes()))
    saved = json.loads((tmp_path / "other" / "stepwell.json").read_text())["content"]["graph"]
    edit(path, lambda said: said["content"].update(graph=saved))
    with pytest.raises(LoadError, match=r"the graph has the arguments .*\(5, 8\).*, code\.o expects .*\(3, 8\)"):
        Executable.load(path)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ" + bytes(1000)])
def test_code_of_another_machine_is_refused(executable: Executable, tmp_path: Path, edit: Edit, content: bytes) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", replace_file(tmp_path / "out", "code.o", content))
    with pytest.raises(LoadError, match=r"code\.o begins with .*, code of this machine with"):
        Executable.load(tmp_path / "out")


def test_the_machine_in_the_header_of_code_is_checked(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    path = tmp_path / "out"
    executable.save(path)
    code = bytearray((path / "code.o").read_bytes())
    if code[:4] != b"\x7fELF":
        pytest.skip("needs ELF")
    code[18] ^= 0xFF  # e_machine
    edit(path, replace_file(path, "code.o", bytes(code)))
    with pytest.raises(LoadError, match=r"code\.o begins with .*, code of this machine with"):
        Executable.load(path)


def test_code_without_signatures_is_refused(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    path = tmp_path / "out"
    executable.save(path)
    code = (path / "code.o").read_bytes().replace(b"stepwell signatures", b"stepwell_signatures")
    edit(path, replace_file(path, "code.o", code))
    with pytest.raises(LoadError, match=r"code\.o contains no signatures"):
        Executable.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda code: code["functions"][0]["parameters"][0].update(shape=[None, 9]),
        lambda code: code["functions"][0]["parameters"][0].update(dtype="float64"),
        lambda code: code["functions"][0]["parameters"][0].update(offset=-1),
        lambda code: code["functions"][0]["parameters"][0].update(shape=[None, 8.0]),
        lambda code: code["functions"][0].update(noalias=False),
        lambda code: code["functions"].reverse(),
        lambda code: code["functions"].pop(),
        lambda code: code["failures"].popitem(),
        lambda code: code["externals"].append("system"),
    ],
)
def test_the_manifest_describes_the_code(
    executable: Executable, tmp_path: Path, edit: Edit, change: Callable[[dict[str, Any]], None]
) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", lambda said: change(said["content"]["code"]))
    with pytest.raises(LoadError, match=r"stepwell\.json describes .*, code\.o expects "):
        Executable.load(tmp_path / "out")


# Other processors


def test_code_for_more_than_this_processor_has_is_refused(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", lambda said: said["content"]["code"].update(cpu="tomorrow", features="+warp,+weft"))
    with pytest.raises(LoadError, match=r"made for tomorrow, whose features it does not say, this machine is"):
        Executable.load(tmp_path / "out")
    host = Processor.host()
    features = f"{host.features},+weft,+warp"
    edit(tmp_path / "out", lambda said: said["content"]["code"].update(features=features))
    with pytest.raises(LoadError, match=r"made for tomorrow with warp, weft, which this machine \(.+\) does not have"):
        Executable.load(tmp_path / "out")


def test_code_for_another_system_is_refused(executable: Executable, tmp_path: Path, edit: Edit) -> None:
    executable.save(tmp_path / "out")
    edit(tmp_path / "out", lambda said: said["content"]["code"].update(triple="riscv64-unknown-none"))
    with pytest.raises(LoadError, match=r"made for riscv64-unknown-none, this machine is"):
        Executable.load(tmp_path / "out")


# Names


def test_the_program_has_a_former_name(executable: Executable) -> None:
    with pytest.warns(DeprecationWarning, match=r"Executable\.library is now Executable\.program"):
        assert executable.library is executable.program
