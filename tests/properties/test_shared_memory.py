"""Default schedules of sums of products take no more shared memory than a block of threads has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepwell import relay
from stepwell.module import Module
from stepwell.transforms.pipelines import lower_graph, lower_launches

CHANNELS = (1, 3, 4, 8, 12, 33, 64, 96, 256)
LAYOUTS = {1: (("NCW", "OIW"), ("NWC", "WIO")), 2: (("NCHW", "OIHW"), ("NHWC", "HWIO"))}


@st.composite
def convolutions(draw: st.DrawFn) -> Module:
    """A convolution of any layout, with odd sizes, strides, dilation and groups."""
    rank, groups = draw(st.sampled_from((1, 2, 2, 2))), draw(st.sampled_from((1, 1, 1, 2, 4)))
    inputs, outputs = (draw(st.sampled_from(CHANNELS)) * groups for _ in "io")
    window = [draw(st.sampled_from((1, 1, 2, 3, 3, 5, 7, 11))) for _ in range(rank)]
    dilation, stride = draw(st.sampled_from((1, 1, 2, 3))), draw(st.sampled_from((1, 1, 2, 3)))
    image = [(size - 1) * dilation + draw(st.sampled_from((1, 5, 14, 33, 60))) for size in window]
    data_layout, kernel_layout = draw(st.sampled_from(LAYOUTS[rank]))
    extents = dict(zip("HW"[-rank:], image, strict=True)) | {"N": draw(st.sampled_from((1, 2))), "C": inputs}
    weights = dict(zip("HW"[-rank:], window, strict=True)) | {"O": outputs, "I": inputs // groups}
    dtype = draw(st.sampled_from(("float32", "float32", "float16", "float64", "int8")))
    a = relay.var("a", shape=tuple(extents[axis] for axis in data_layout), dtype=dtype)
    w = relay.var("w", shape=tuple(weights[axis] for axis in kernel_layout), dtype=dtype)
    convolve = relay.nn.conv1d if rank == 1 else relay.nn.conv2d
    result = convolve(
        a, w, channels=outputs, kernel_size=tuple(window), strides=(stride,) * rank, dilation=(dilation,) * rank,
        groups=groups, data_layout=data_layout, kernel_layout=kernel_layout,
    )  # fmt: skip
    return relay.module(relay.Function([a, w], result))


@st.composite
def products(draw: st.DrawFn) -> Module:
    """A batch of matrix products."""
    batch, rows, columns, summed = (draw(st.sampled_from((1, 3, 8, 17, 64, 100, 1024))) for _ in range(4))
    dtype = draw(st.sampled_from(("float32", "float16", "float64")))
    a = relay.var("a", shape=(batch, rows, summed), dtype=dtype)
    b = relay.var("b", shape=(batch, columns, summed), dtype=dtype)
    return relay.module(relay.Function([a, b], relay.nn.batch_matmul(a, b)))


@given(convolutions() | products())
def test_kernels_fit_into_shared_memory(module: Module) -> None:
    lower_launches(lower_graph(module)).verify()  # tir-check-launches rejects kernels that do not fit
