"""The emulation detects a race in a random program if and only if two conflicting accesses are unordered by
definition."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends.cuda.emulation import EmulatedModule, EmulationError, compile_emulated, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="g++ is not installed, which the emulation of CUDA needs")

BLOCKS = 2
THREADS = 34
ACTIVE = (0, 1, 2, 3, 32, 33)
"""The threads that access memory: four of a warp and two of the next warp."""
MASKS = (0b11, 0b110, 0b1100, 0b1111, 0b1011)
SIZES = {"unsigned char": 1, "unsigned short": 2, "unsigned": 4, "unsigned long long": 8}

# Each thread follows a table: each step accesses memory or synchronizes. Values are unique to the step and the thread.
_CASES = "".join(
    f"      case {10 + i}: sum += unsigned(*({type_}*)at); break;\n"
    f"      case {20 + i}: *({type_}*)at = ({type_})(own * 0x0101010101010101ull); break;\n"
    for i, type_ in enumerate(SIZES)
)
PLAYER = f"""
__device__ void follow(unsigned char* memory, const int* table, unsigned* sums, int steps) {{
  unsigned sum = 0;
  for (int step = 0; step < steps; ++step) {{
    const int* entry = &table[2 * ((blockIdx.x * steps + step) * blockDim.x + threadIdx.x)];
    unsigned char* at = memory + entry[1];
    unsigned long long own = 1 + step * 12 + blockIdx.x * 6 + (threadIdx.x < 32 ? threadIdx.x : threadIdx.x - 28);
    switch (entry[0]) {{
      case 0: break;
      case 1: __syncthreads(); break;
      case 2: __syncwarp(unsigned(entry[1])); break;
      case 32: atomicAdd((unsigned*)at, 1u); break;
      case 33: atomicAdd((unsigned long long*)at, 1ull); break;
{_CASES}    }}
  }}
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}
extern "C" __global__ void in_global(unsigned char* memory, const int* table, unsigned* sums, int steps) {{
  follow(memory, table, sums, steps);
}}
extern "C" __global__ void in_shared(const int* table, unsigned* sums, int steps) {{
  __shared__ __align__(16) unsigned char memory[16];
  if (threadIdx.x < 16) memory[threadIdx.x] = 0;
  __syncthreads();
  follow(memory, table, sums, steps);
}}
"""


@dataclass(frozen=True)
class Touch:
    """A memory access of a thread. kind: `read`, `write` or `atomic`."""

    block: int
    step: int
    thread: int
    kind: str
    begin: int
    size: int

    @property
    def code(self) -> int:
        place = list(SIZES.values()).index(self.size)
        return {"read": 10, "write": 20, "atomic": 30}[self.kind] + place

    def conflicts(self, other: "Touch") -> bool:
        overlap = self.begin < other.begin + other.size and other.begin < self.begin + self.size
        return overlap and {self.kind, other.kind} not in ({"read"}, {"atomic"})


@dataclass(frozen=True)
class Program:
    """A random program. meetings: the synchronization of the threads of a block at each step: None (each may access
    memory), 0 (the barrier of the block) or the mask of a barrier of warp 0.
    """

    meetings: tuple[int | None, ...]
    touches: tuple[Touch, ...]

    def table(self) -> np.ndarray:
        table = np.zeros((BLOCKS, len(self.meetings), THREADS, 2), np.int32)
        for step, meeting in enumerate(self.meetings):
            if meeting == 0:
                table[:, step, :, 0] = 1
            elif meeting is not None:
                lanes = [lane for lane in range(32) if meeting >> lane & 1]
                table[:, step, lanes] = 2, meeting
        for touch in self.touches:
            table[touch.block, touch.step, touch.thread] = touch.code, touch.begin
        return table

    def is_ordered(self, first: Touch, second: Touch) -> bool:
        """Whether two accesses are ordered: whether synchronization propagates from the thread of the earlier access to
        the thread of the later access."""
        first, second = sorted((first, second), key=lambda touch: touch.step)
        reached = {first.thread}
        for meeting in self.meetings[first.step : second.step]:
            if meeting == 0:
                reached |= set(range(THREADS))
            elif meeting is not None:
                lanes = {lane for lane in range(32) if meeting >> lane & 1}
                reached |= lanes if lanes & reached else set()
        return second.thread in reached

    def has_race(self, blocks_share: bool) -> bool:
        pairs = ((a, b) for i, a in enumerate(self.touches) for b in self.touches[:i] if a.conflicts(b))
        return any(blocks_share if a.block != b.block else not self.is_ordered(a, b) for a, b in pairs)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    meeting = st.one_of(st.none(), st.none(), st.just(0), st.sampled_from(MASKS))
    meetings = draw(st.lists(meeting, min_size=2, max_size=8))
    touches = []
    for step, meeting in enumerate(meetings):
        if meeting is not None:
            continue
        for block in range(draw(st.integers(1, BLOCKS))):
            for thread in draw(st.lists(st.sampled_from(ACTIVE), unique=True, max_size=3)):
                kind = draw(st.sampled_from(["read", "write", "atomic"]))
                size = draw(st.sampled_from([4, 8] if kind == "atomic" else [1, 2, 4, 8]))
                begin = draw(st.integers(0, 16 // size - 1)) * size
                touches.append(Touch(block, step, thread, kind, begin, size))
    return Program(tuple(meetings), tuple(touches))


@pytest.fixture(scope="module")
def player() -> EmulatedModule:
    return compile_emulated(PLAYER, ["in_global", "in_shared"])


def _is_found(player: EmulatedModule, kernel: str, program: Program) -> bool:
    memory = [np.zeros(16, np.uint8)] if kernel == "in_global" else []
    sums = np.zeros((BLOCKS, THREADS), np.uint32)
    arguments = [*memory, program.table(), sums, np.int32(len(program.meetings))]
    try:
        player.launch(kernel, (BLOCKS,), (THREADS,), arguments)
    except EmulationError as error:
        if "data race" not in error.reason:
            raise
        return True
    return False


@given(program=programs())
def test_races_in_shared_memory_are_found_and_no_others(player: EmulatedModule, program: Program) -> None:
    assert _is_found(player, "in_shared", program) == program.has_race(blocks_share=False)


@given(program=programs())
def test_races_in_global_memory_are_found_and_no_others(player: EmulatedModule, program: Program) -> None:
    assert _is_found(player, "in_global", program) == program.has_race(blocks_share=True)
