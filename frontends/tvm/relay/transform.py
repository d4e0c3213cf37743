"""Passes on graphs, as `tvm.relay.transform` has them: each is passes of ours under TVM's name.

A pass of TVM is there if one of ours does what it is for. Ours stand in their places too, under their own names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from ....core.errors import OptionError
from ....module import Module
from ....transforms.pipelines import run_pipeline
from ....transforms.relay.eliminate_dead_code import RelayEliminateDeadCodePass
from ....transforms.relay.fold_constants import RelayFoldConstantsPass
from ....transforms.relay.fold_scale_axis import RelayFoldScaleAxisPass
from ....transforms.relay.fuse_operators import RelayFuseOperatorsPass
from ....transforms.relay.infer_types import RelayInferTypesPass
from ....transforms.relay.simplify import RelaySimplifyPass
from ....transforms.relay.simplify_inference import RelaySimplifyInferencePass
from ..ir.module import IRModule
from ..transform import FunctionalPass, PassContext, PassInfo


def _pass(name: str, opt_level: int, passes: Callable[[PassContext], Sequence[ModulePass]]) -> FunctionalPass:
    """Passes of ours under a name and from a level on, which are TVM's."""

    def run(mod: IRModule, ctx: PassContext) -> Module:
        return run_pipeline(mod, passes(ctx))

    return FunctionalPass(run, PassInfo(opt_level, name))


def InferType() -> FunctionalPass:
    """Infer the types of all tensors anew from those of the parameters; they are known when a graph is written."""
    return _pass("InferType", 0, lambda ctx: [RelayInferTypesPass()])


def FoldConstant(fold_qnn: bool = False) -> FunctionalPass:
    """Compute what depends on constants alone."""
    return _pass("FoldConstant", 2, lambda ctx: [RelayFoldConstantsPass()])


def SimplifyInference() -> FunctionalPass:
    """Replace operators that do less when nothing is trained."""
    return _pass("SimplifyInference", 0, lambda ctx: [RelaySimplifyInferencePass()])


def SimplifyExpr() -> FunctionalPass:
    """Replace operators by fewer or simpler ones that compute the same."""
    return _pass("SimplifyExpr", 0, lambda ctx: [RelaySimplifyPass()])


def FoldScaleAxis() -> FunctionalPass:
    """Multiply constant weights instead of what is computed by them; results may round differently."""
    return _pass("FoldScaleAxis", 3, lambda ctx: [RelayFoldScaleAxisPass(), RelayFoldConstantsPass()])


def EliminateCommonSubexpr() -> FunctionalPass:
    """Compute once what is computed of the same values several times."""
    return _pass("EliminateCommonSubexpr", 3, lambda ctx: [CommonSubexpressionElimination()])


def DeadCodeElimination(inline_once: bool = False, ignore_impurity: bool = False) -> FunctionalPass:
    """Take away what nothing reads."""
    return _pass("DeadCodeElimination", 1, lambda ctx: [RelayEliminateDeadCodePass()])


def FuseOps(fuse_opt_level: int = -1) -> FunctionalPass:
    """Make one function of each group of operators that is to be one kernel. fuse_opt_level: 0 for one per operator,
    -1 for what the context says. OptionError for less than that."""
    if fuse_opt_level < -1:
        raise OptionError(f"FuseOps: level {fuse_opt_level}, expected one from 0 on, or -1")

    def passes(ctx: PassContext) -> list[ModulePass]:
        level = ctx.opt_level if fuse_opt_level == -1 else fuse_opt_level
        return [RelayFuseOperatorsPass(level=2 if level else 0)]

    return _pass("FuseOps", 0, passes)
