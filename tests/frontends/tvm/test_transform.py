"""Passes in TVM's form, pass contexts, and the lowering with passes of the user."""

import re
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, PassError
from stepwell.frontends.tvm import te, tir
from stepwell.frontends.tvm.ir.module import IRModule, PrimFunc
from stepwell.frontends.tvm.transform import Pass, PassContext, PassInstrument, Sequential, as_passes, module_pass
from stepwell.transforms.tir.resolve_blocks import TirResolveBlocksPass
from stepwell.transforms.tir.vectorize_loops import TirVectorizeLoopsPass


def shifted(by: float = 1.0) -> PrimFunc:
    a = te.placeholder((8,), name="A")
    return te.create_prim_func([a, te.compute((8,), lambda i: a[i] + by, name="B")])


@tir.transform.prim_func_pass(opt_level=0)
def parallelize(f: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    def changed(node: Any) -> Any:
        return tir.For(node.loop_var, node.min, node.extent, tir.ForKind.PARALLEL, node.body)

    return f.with_body(tir.stmt_functor.ir_transform(f.body, None, changed, ["tir.For"]))


@module_pass(opt_level=2, name="tagged")
def tagged(mod: IRModule, ctx: PassContext) -> IRModule:
    return IRModule({name: func.with_attr("tag", 1) for name, func in mod.items()})


class Seen(PassInstrument):
    """Records the passes it is shown; skips passes of some names."""

    def __init__(self, *left_out: str):
        self.events: list[str] = []
        self.left_out = left_out

    def enter_pass_ctx(self) -> None:
        self.events.append("enter")

    def exit_pass_ctx(self) -> None:
        self.events.append("exit")

    def should_run(self, mod: IRModule, info: Any) -> bool:
        return info.name not in self.left_out

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        self.events.append(f"before {info.name}")

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        self.events.append(f"after {info.name}")


def test_a_pass_gives_a_module_and_leaves_its_own() -> None:
    mod = IRModule({"main": shifted()})
    result = parallelize(mod)
    assert "T.parallel" in result.script()
    assert "T.parallel" not in mod.script()
    out = np.zeros(8, "float32")
    tvm.build(result)(np.zeros(8, "float32"), out)
    assert out.tolist() == [1] * 8


def test_passes_stand_in_a_row() -> None:
    result = Sequential([parallelize, tagged])(IRModule({"main": shifted()}))
    assert "T.parallel" in result.script()
    assert '"tag": 1' in result.script()


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        ({}, True),
        ({"opt_level": 1}, False),
        ({"opt_level": 1, "required_pass": ["tagged"]}, True),
        ({"disabled_pass": ["tagged"]}, False),
        ({"instruments": [Seen("tagged")]}, False),
        ({"instruments": [Seen("tagged")], "required_pass": ["tagged"]}, True),
    ],
)
def test_the_context_says_which_passes_run(options: dict[str, Any], runs: bool) -> None:
    with PassContext(**options):
        assert ("tag" in Sequential([tagged])(IRModule({"main": shifted()})).script()) == runs


def test_a_pass_that_is_called_alone_runs_at_every_level() -> None:
    with PassContext(opt_level=0):
        assert "tag" in tagged(IRModule({"main": shifted()})).script()


def test_instruments_see_passes_and_the_context() -> None:
    seen = Seen()
    with PassContext(instruments=[seen]):
        Sequential([parallelize])(IRModule({"main": shifted()}))
    assert seen.events == [
        "enter",
        "before sequential",
        "before parallelize",
        "after parallelize",
        "after sequential",
        "exit",
    ]


RESOLVE = "tir-resolve-blocks,tir-simplify{unit-loops=true}"


@pytest.mark.parametrize(
    "passes", [[RESOLVE], [TirResolveBlocksPass(), "tir-simplify"], [lambda mod: mod, TirResolveBlocksPass()]]
)
def test_passes_of_xdsl_and_pipelines_stand_in_a_row_too(passes: list[Any]) -> None:
    mod = IRModule({"main": shifted()})
    assert "T.block(" not in Sequential([*passes, tagged])(mod).script()
    assert "T.block(" in mod.script()


def test_the_context_sees_passes_of_xdsl_under_their_names() -> None:
    seen = Seen()
    with PassContext(instruments=[seen], disabled_pass=["tir-simplify"]):
        result = Sequential([RESOLVE])(IRModule({"main": shifted()}))
    assert seen.events[2:-2] == ["before tir-resolve-blocks", "after tir-resolve-blocks"]
    assert "T.block(" not in result.script()


def test_what_a_pass_requires_runs_before_it() -> None:
    found: list[bool] = []

    @module_pass(opt_level=2, name="look", required=["tir-resolve-blocks"])
    def look(mod: IRModule, ctx: PassContext) -> IRModule:
        found.append("T.block(" in mod.script())
        return mod

    assert "T.block(" not in look(shifted()).script()
    assert found == [False]
    with PassContext(opt_level=1):
        assert "T.block(" in Sequential([look])(shifted()).script()


@pytest.mark.parametrize("given", [TirVectorizeLoopsPass(), "tir-resolve-blocks,tir-vectorize-loops", parallelize])
def test_a_pass_of_any_kind_is_added_to_the_way_down(given: Any) -> None:
    seen = Seen()
    with PassContext(instruments=[seen], config={"tir.add_lower_pass": [(0, given)]}):
        mod = tvm.lower(shifted())
    first = as_passes(given, "")[0]
    assert isinstance(first, Pass)
    assert seen.events[1:3] == [f"before {first.info.name}", f"after {first.info.name}"]
    assert seen.events[-2] == "after tir-simplify"
    out = np.zeros(8, "float32")
    tvm.build(mod)(np.zeros(8, "float32"), out)
    assert out.tolist() == [1] * 8


def test_vectorized_loops_stay_serial_where_that_is_asked() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].vectorize(b.op.axis[0])
    assert "T.Broadcast" in tvm.lower(s, [a, b]).script()
    with PassContext(config={"tir.disable_vectorize": True}):
        assert "T.Broadcast" not in tvm.lower(s, [a, b]).script()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Sequential(list[Any]([3])),
            "passes of sequential: 3, expected a pass, a function from modules to",
        ),
        (lambda: Sequential(list[Any]([TirResolveBlocksPass])), "TirResolveBlocksPass'>, expected a pass, a function"),
        (lambda: Sequential(["tir-resolve-block"]), "pipeline 'tir-resolve-block'"),
        (lambda: PassContext(config={"tir.add_lower_pass": [(1, None)]}), "tir.add_lower_pass: None, expected a pass"),
        (lambda: module_pass(lambda mod, ctx: mod, name="a", required=["b"])(shifted()), "pipeline 'b'"),
    ],
)
def test_what_is_no_pass_is_refused(make: Any, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(("phase", "has_blocks"), [(0, True), (1, False), (2, False), (3, False), (7, False)])
def test_a_pass_of_a_user_runs_after_its_phase(phase: int, has_blocks: bool) -> None:
    found: list[bool] = []

    @module_pass(opt_level=0)
    def look(mod: IRModule, ctx: PassContext) -> IRModule:
        found.append("T.block(" in mod.script())
        return mod

    with PassContext(config={"tir.add_lower_pass": [(phase, look)]}):
        tvm.lower(shifted())
    assert found == [has_blocks]


def test_a_module_that_is_lowered_is_not_lowered_again() -> None:
    count: list[int] = []

    @module_pass(opt_level=0)
    def look(mod: IRModule, ctx: PassContext) -> IRModule:
        count.append(1)
        return mod

    with PassContext(config={"tir.add_lower_pass": [(1, look)]}):
        tvm.build(tvm.lower(tvm.lower(shifted())))
    assert count == [1]


def test_a_context_ends_where_it_ends() -> None:
    with PassContext(opt_level=0):
        assert PassContext.current().opt_level == 0
        with PassContext(opt_level=3):
            assert PassContext.current().opt_level == 3
        assert PassContext.current().opt_level == 0
    assert PassContext.current().opt_level == 2


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tir.add_lower_passes": []}, r"no option 'tir.add_lower_passes', did you mean 'tir.add_lower_pass'"),
        ({"tir.add_lower_pass": [parallelize]}, "expected a phase and a pass"),
        ({"tir.add_lower_pass": [(-1, parallelize)]}, "phase -1, expected a number from 0 on"),
    ],
)
def test_a_mistake_in_the_context_is_an_error(config: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        PassContext(config=config)


def test_a_pass_that_gives_something_else_is_an_error() -> None:
    nothing = module_pass(lambda mod, ctx: None, opt_level=0, name="nothing")  # pyright: ignore[reportArgumentType]
    with pytest.raises(PassError, match="pass nothing gives None"):
        nothing(IRModule({"main": shifted()}))
    no_function = tir.transform.prim_func_pass(lambda f, mod, ctx: 3, opt_level=0, name="three")  # pyright: ignore[reportArgumentType]
    with pytest.raises(PassError, match="pass three gives 3 for function main"):
        no_function(IRModule({"main": shifted()}))
    with pytest.raises(PassError, match="expected a module, got 3"):
        tagged(3)


def test_a_context_takes_the_options_of_tvm_by_the_names_of_all_versions() -> None:
    options = {
        "relax.backend.use_cuda_graph": True,
        "relay.fallback_device_type": 1,
        "tir.usmp.algorithm": "greedy_by_size",
    }
    assert tvm.transform.PassContext(config=options).config == options
    assert tvm.transform.PassContext(config={"tirx.disable_vectorize": True}).config == {"tir.disable_vectorize": True}
    with pytest.raises(OptionError, match=r"no option .*, did you mean 'relay.fallback_device_type'"):
        tvm.transform.PassContext(config={"relay.fallback_device": 1})
