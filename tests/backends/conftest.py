"""Fixtures of devices, fixtures that compile upstream MLIR text, and that run programs with the oracle and the
interpreter."""

import json
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from stepwell import Device, DeviceError, PluginError
from stepwell.backends.build import build
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.interpreter import interpret
from stepwell.backends.llvm.compile import compile_module
from stepwell.backends.llvm.engine import Processor
from stepwell.backends.oracle import run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.backends.runtime import Program
from stepwell.backends.saving.format import checksum
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.warm_python import WarmPython
from stepwell.transforms.upstream.legalize_small_floats import LegalizeSmallFloatsPass

TARGETS = {"cuda_emulated": "cuda-emulated", "cuda": "cuda"}


@pytest.fixture(scope="module", params=["cuda_emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    """Each kind of device that runs kernels."""
    if request.param == "cuda_emulated" and compiler() is None:
        pytest.skip("needs g++ and binutils")
    try:
        _ = Device(request.param).driver
    except (DeviceError, PluginError) as error:
        pytest.skip(str(error))
    return Device(request.param)


@pytest.fixture(scope="module")
def target(device: Device) -> str:
    """The target of the device."""
    return TARGETS[device.kind]


def _parse(text: str) -> ModuleOp:
    return _parsed(text).clone()


@lru_cache(maxsize=4)  # tests compile one text for several targets in turn
def _parsed(text: str) -> ModuleOp:
    ctx = Context()
    for name, load in get_all_dialects().items():
        ctx.register_dialect(name, load)
    return Parser(ctx, text, "test.mlir").parse_module()


def _compile(text: str, **options: Any) -> Program:
    module = _parse(text)
    LegalizeSmallFloatsPass().apply(Context(), module)
    return compile_module(module, **options)


def _run_sanitized(module: Module, entry: str, arguments: Sequence[Any]) -> Any:
    return build(module, sanitize=True)[entry](*arguments)


def _run_sanitized_in_oracle(module: Module, entry: str, arguments: Sequence[Any]) -> Any:
    return run_oracle(apply_passes(module, "tir-sanitize"), entry, arguments)


def _runner(function: Callable[..., Any]) -> Callable[..., Any]:
    def run_program(program: Module | str, *arguments: Any, **options: Any) -> Any:
        if isinstance(program, str):
            program = parse_tvmscript(program) if "T.prim_func" in program else parse_mlir(program)
        program.verify()
        return function(program, "main", arguments, **options)

    return run_program


@pytest.fixture(params=[run_oracle, interpret], ids=["oracle", "interpreter"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`run(program, *arguments, **options)` runs `main` of a module, or of text in either language."""
    return _runner(request.param)


@pytest.fixture(
    params=[run_oracle, interpret, _run_sanitized, _run_sanitized_in_oracle],
    ids=["oracle", "interpreter", "sanitized", "sanitized-oracle"],
)
def run_checked(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """As `run`, and besides as native code with `tir-sanitize`, and in the oracle after that pass."""
    return _runner(request.param)


@pytest.fixture(scope="session")
def parse_upstream() -> Callable[[str], ModuleOp]:
    """Parses MLIR text."""
    return _parse


@pytest.fixture(scope="session")
def compile_text() -> Callable[..., Program]:
    """Compiles MLIR text after the legalization of half floats; options as in `compile_module`."""
    return _compile


@pytest.fixture
def execute(request: pytest.FixtureRequest, warm_python: WarmPython) -> Callable[..., list[str]]:
    """`execute(program, *arguments, **environment)`: the lines that a program in Python prints, after the text `COMMON`
    of the test's module, in a process of its own.
    """

    def lines(program: str, *arguments: str, **environment: str) -> list[str]:
        text = request.module.COMMON + textwrap.dedent(program)
        done = warm_python.run("-c", text, *arguments, environment=environment)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return lines


@pytest.fixture(scope="session")
def plain_target() -> Processor:
    """A target without extensions of the instruction set: no f16c, no fma, no sse4.1."""
    return Processor("x86-64")


def _loop(body: str, inputs: Sequence[str], output: str, lanes: int) -> str:
    """The loop of an elementwise function over the buffers `%m0`, `%m1`, ... of `inputs` and `output`."""
    types = [*inputs, output]
    shown = [t if lanes == 1 else f"vector<{lanes}x{t}>" for t in types]
    load = "memref.load" if lanes == 1 else "vector.load"
    store = "memref.store" if lanes == 1 else "vector.store"
    tail = [f"memref<?x{t}>" + (f", {s}" if lanes > 1 else "") for t, s in zip(types, shown, strict=True)]
    loads = "\n".join(f"%x{i} = {load} %m{i}[%i] : {tail[i]}" for i in range(len(inputs)))
    return f"""%c0 = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      %n = memref.dim %m0, %c0 : memref<?x{types[0]}>
      scf.for %i = %c0 to %n step %step {{
        {loads}
        {body}
        {store} %r, %m{len(inputs)}[%i] : {tail[-1]}
      }}
      func.return"""


@pytest.fixture(scope="session")
def elementwise() -> Callable[..., Callable[..., None]]:
    """`elementwise(body, inputs, output)`: a function on arrays that computes `%r` from `%x0`, `%x1`, ... of the types
    `inputs`, element by element, or `lanes` elements at a time (`T` in the body is then the vector type)."""

    def make(body: str, inputs: list[str], output: str, lanes: int = 1, **options: Any) -> Callable[..., None]:
        arguments = ", ".join(f"%m{i}: memref<?x{t}>" for i, t in enumerate([*inputs, output]))
        return _compile(f"func.func @main({arguments}) {{\n{_loop(body, inputs, output, lanes)}\n}}", **options)

    return make


@lru_cache(maxsize=32)
def _table(
    bodies: tuple[str, ...], inputs: tuple[str, ...], output: str, lanes: int, target: Processor | None
) -> Program:
    """`main(case, *arrays)` computes the body of the number `case`: one function of Python for all bodies, because its
    compilation takes longer than that of a body."""
    types = [f"memref<?x{t}>" for t in (*inputs, output)]
    arguments = ", ".join(f"%m{i}: {t}" for i, t in enumerate(types))
    values = ", ".join(f"%m{i}" for i in range(len(types)))
    call = f"({values}) : ({', '.join(types)}) -> ()"
    functions = "\n".join(
        f"func.func private @f{i}({arguments}) {{\n{_loop(body, inputs, output, lanes)}\n}}"
        for i, body in enumerate(bodies)
    )
    cases = "\n".join(
        f"""%c{i} = arith.constant {i} : index
        %is{i} = arith.cmpi eq, %case, %c{i} : index
        scf.if %is{i} {{ func.call @f{i}{call} }}"""
        for i in range(len(bodies))
    )
    main = f"func.func @main(%case: index, {arguments}) {{\n{cases}\nfunc.return\n}}"
    return _compile(f"{functions}\n{main}", target=target)


@pytest.fixture(scope="session")
def elementwise_table() -> Callable[..., Callable[..., None]]:
    """`elementwise_table(bodies, name, inputs, output)`: as `elementwise` of `bodies[name]`. All bodies are compiled in
    one module, once for all tests that name one of them."""

    def make(
        bodies: dict[Any, str],
        name: Any,
        inputs: list[str],
        output: str,
        lanes: int = 1,
        target: Processor | None = None,
    ) -> Callable[..., None]:
        program = _table(tuple(bodies.values()), tuple(inputs), output, lanes, target)
        return partial(program, list(bodies).index(name))

    return make


@pytest.fixture(params=["out", "out.tar"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path for an archive, as a folder and as a tar."""
    return tmp_path / request.param


@pytest.fixture(scope="session")
def edit() -> Callable[..., None]:
    """`edit(path, change, sign=True)` changes the manifest of a saved folder, and updates its checksum if `sign`."""

    def edit_manifest(path: Path, change: Callable[[dict[str, Any]], None], *, sign: bool = True) -> None:
        file = path / "stepwell.json"
        said = json.loads(file.read_text())
        change(said)
        if sign:
            said["checksum"] = checksum(said)
        file.write_text(json.dumps(said))

    return edit_manifest
