"""The primitives `decompose_reduction` and `rfactor`: reductions divided into steps."""

from __future__ import annotations

from ...analysis.dependence.touched import accessed_memories
from ...analysis.names import block_name, fresh_block_name, loop_name
from ...analysis.scopes import loops_around
from ...core.errors import ScheduleError
from ...dialects.schedule import DecomposeReductionOp, RfactorOp
from ...dialects.tir import BlockOp, ForOp, FuncOp
from ..handles import BlockLike, BlockRV, LoopRV
from ..recorder import Recorder
from ..rewriting.init_nests import build_init_nest, plan_init
from ..rewriting.nest import function_of, rename_block
from ..rewriting.rfactor import rfactor_reduction
from ..state import ComputeLocation, State, applies


class ReductionPrimitives(Recorder):
    """Primitives that divide a reduction into steps."""

    def decompose_reduction(self, block: BlockLike, loop: LoopRV) -> BlockRV:
        """Move the init of a reduction into a block of its own, before a loop.

            for i, j, k in T.grid(16, 8, 4):            for i in range(16):
                with T.block("C"):                          for j_init in range(8):
                    vi, vj, vk = ...                            with T.block("C_init"):
                    with T.init():                                  vi, vj = ...remap("SS", [i, j_init])
                        C[vi, vj] = 0.0             ->              C[vi, vj] = 0.0
                    C[vi, vj] = C[vi, vj] + ...             for j, k in T.grid(8, 4):
                                                                with T.block("C_update"):
                                                                    vi, vj, vk = ...
                                                                    C[vi, vj] = C[vi, vj] + ...

        block: a block with an init, which may initialise several buffers. The block keeps its identity; it is renamed
        to `NAME_update`.
        loop: a loop around the block. The loops from `loop` inwards that determine an initialised element are copied
        around the new block, before `loop`.
        Returns the new block, named `NAME_init`.
        Legal if no reader sees a difference: `loop` must be outside of all reduction loops, and no statement in between
        may read or write the elements. ScheduleError with two conflicting instances if not.
        """
        return self.record(DecomposeReductionOp, block=self._block(block), loop=loop)[0]

    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Factor a reduction into two steps: along all other loops, for each iteration of `loop`; then along `loop`.

            for i, k_0, k_1 in T.grid(8, 4, 16):        S_rf = T.alloc_buffer((4, 8))
                with T.block("S"):                      for i, k_0, k_1 in T.grid(8, 4, 16):
                    vi = T.axis.spatial(8, i)               with T.block("S_rf"):
                    vk = T.axis.reduce(                         vk_0, vi, vk_1 = ...remap("SSR", [k_0, i, k_1])
                        64, k_0 * 16 + k_1)                     with T.init():
                    with T.init():                                  S_rf[vk_0, vi] = 0.0
                        S[vi] = 0.0             ->              S_rf[vk_0, vi] += A[vi, vk_0 * 16 + vk_1]
                    S[vi] += A[vi, vk]                  for i, k_0 in T.grid(8, 4):
                                                            with T.block("S"):
                                                                vk_0, vi = ...remap("RS", [k_0, i])
                                                                with T.init():
                                                                    S[vi] = 0.0
                                                                S[vi] += S_rf[vk_0, vi]

        loop: a loop around one block, a reduction by an operator that is known to be associative and commutative (sums,
        products, minima, maxima, bitwise; argmax and argmin, and several sums at once); not a loop that determines the
        written element. From the outermost reduction loop on, each loop must be the only statement in the previous one.
        factor_axis: the index of the new dimension in the new buffers; negative values count from the end.
        Returns the block of the first step, named `NAME_rf`; the original block performs the second step, in the
        remaining loops around it.
        Floats are added in another order, and the result of an argmax may change among equal keys; otherwise always
        legal. ScheduleError if the block is no such reduction.
        """
        return self.record(RfactorOp, loop=loop, factor_axis=factor_axis)[0]


@applies(DecomposeReductionOp)
def decompose_reduction(state: State, block: BlockOp | FuncOp, loop: ForOp | ComputeLocation) -> BlockOp:
    if isinstance(block, FuncOp) or not isinstance(loop, ForOp):
        raise ScheduleError("expected a block that is in a loop, and a loop around it, not the root block")
    name = block_name(block)
    if loop not in loops_around(block):
        raise ScheduleError(
            f"loop {loop_name(loop)} is not around block {name} in the scope that it is in", {loop: "", block: ""}
        )
    plan = plan_init(block, loop)
    func = function_of(block)
    around = loop.parent_op()
    assert around is not None
    assert block.init is not None, "of a reduction"
    with state.changing([block], among=[around], memories=accessed_memories(block.init)) as change:
        init = build_init_nest(plan, fresh_block_name(func, f"{name}_init"), lambda name: f"{name}_init").block
        change.counterparts[init] = block
    rename_block(block, fresh_block_name(func, f"{name}_update"))
    return init


@applies(RfactorOp)
def rfactor(state: State, loop: ForOp | ComputeLocation, factor_axis: int) -> BlockOp:
    if not isinstance(loop, ForOp):
        raise ScheduleError("expected a loop")
    return rfactor_reduction(state, loop, factor_axis)
