"""Measures default schedules on a GPU: memory-bound programs against the bandwidth of a copy, matrix products against
cuBLAS, convolutions and models against cuDNN; and the cost of a launch.

    python benchmarks/gpu.py                # some minutes on a GPU
    python benchmarks/gpu.py products       # a part: bandwidth, products, convolutions, models, launches
    python benchmarks/gpu.py --emulated     # a smoke test: the same programs, tiny and on the CPU

Every result is compared with numpy's, or torch's for products and convolutions. If torch and Triton are installed, they
are measured on the same arrays (torch: cuBLAS and cuDNN in float32, no tf32). Goals: 85 % of the bandwidth of a copy,
70 % of cuBLAS. Products and convolutions are compiled with `-fast-math-contract=1`, as the libraries are.
"""

import argparse
import importlib
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from gpu_kernels import programs

import stepwell
from stepwell import DeviceError, GraphExecutor, PluginError, build_graph, nd

NUMBER, REPEAT = 20, 5


@dataclass(frozen=True)
class Setting:
    """The device, the target and the sizes of a measurement. torch, triton: the modules, or None."""

    device: stepwell.Device
    target: str
    sizes: dict[str, Any]
    torch: Any
    triton: Any


FULL = {
    "add": 1 << 26,
    "transpose": 8192,
    "rows": (16384, 4096),
    "gemm": (1024, 2048, 4096, 8192),
    "convolution": ((1, 64, 56), (32, 64, 56), (32, 256, 14)),
    "models": (("resnet18", 1), ("resnet18", 16), ("mobilenet_v2", 1)),
}
TINY = {"add": 2048, "transpose": 64, "rows": (4, 512), "gemm": (32,), "convolution": ((1, 4, 6),), "models": ()}
CONTRACT = " -fast-math-contract=1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulated", action="store_true", help="tiny, on the CPU")
    parser.add_argument("parts", nargs="*", help=f"(default: {' '.join(PARTS)})")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"parts: {', '.join(sorted(unknown))}: expected some of {', '.join(PARTS)}")
    setting = _setting(options.emulated)
    _print_machine(setting)
    start = time.perf_counter()
    for name in options.parts or PARTS:
        PARTS[name](setting)
    print(f"\n{time.perf_counter() - start:.0f} s in all")


def _setting(emulated: bool) -> Setting:
    if emulated:
        return Setting(stepwell.cuda_emulated(), "cuda-emulated", TINY, None, None)
    device = stepwell.cuda()
    try:
        _ = device.driver
    except (DeviceError, PluginError) as error:
        print(f"not measured: {error}")
        sys.exit(0)
    torch = _module("torch")
    if torch is not None:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
    return Setting(device, "cuda", FULL, torch, _module("gpu_kernels.triton_kernels"))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _print_machine(setting: Setting) -> None:
    properties = setting.device.properties
    architecture = properties.architecture or "no architecture"
    print(f"{properties.name}, {architecture}, {properties.processors} processors, driver {properties.version or '-'}")
    print(f"{platform.platform()}, Python {platform.python_version()}")
    names = ("stepwell", "cuda-bindings", "nvidia-cuda-nvrtc", "torch", "triton", "numpy")
    print(", ".join(f"{name} {_version(name)}" for name in names))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "-"


# Measurement


def _ours(setting: Setting, mod: Any, arrays: list[Any], options: str = "") -> float:
    """The seconds of a program. options: options of the target."""
    lib = stepwell.build(mod, target=setting.target + options)
    function = next(iter(lib.functions.values()))
    number = NUMBER if setting.device.kind == "cuda" else 1
    return function.time_evaluator(number=number, repeat=REPEAT)(*arrays).median


def _theirs(setting: Setting, run: Callable[..., None], arrays: list[Any]) -> float | None:
    """The seconds of a function of Triton or torch, on the same arrays; None without Triton."""
    if setting.triton is None:
        return None
    tensors = [setting.torch.from_dlpack(array) for array in arrays]
    return setting.triton.seconds(lambda: run(*tensors), NUMBER, REPEAT)


def _arrays(setting: Setting, *values: np.ndarray[Any, Any]) -> list[Any]:
    return [nd.array(each, setting.device) for each in values]


def _compare(name: str, got: Any, expected: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-5, err_msg=name)


# Rows


def _bandwidth(setting: Setting) -> None:
    """Prints the bandwidth of memory-bound programs relative to a copy."""
    rng = np.random.default_rng(0)
    size, square, (rows, columns) = (setting.sizes[name] for name in ("add", "transpose", "rows"))
    a, b = rng.random((2, size), np.float32)
    c, d = rng.random((square, square), np.float32), rng.random((rows, columns), np.float32)
    copy = _copy_bandwidth(setting, a)
    print(f"\n{'':28}{'ms':>10}{'GB/s':>10}{'of a copy':>12}{'Triton':>12}")
    print(f"{f'copy {size}':28}{a.nbytes * 2 / copy * 1e3:10.3f}{copy / 1e9:10.0f}{1:12.0%}")
    powers = np.exp(d - d.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    cases = [
        (f"add {size}", "add", programs.add(size), [a, b], a + b),
        (f"transpose {square}", "transpose", programs.transpose(square), [c], c.T),
        (f"row_sum {rows}x{columns}", "row_sum", programs.row_sum(rows, columns), [d], d.sum(axis=1)),
        (f"column_sum {rows}x{columns}", "column_sum", programs.column_sum(rows, columns), [d], d.sum(axis=0)),
        (f"softmax {rows}x{columns}", "softmax", programs.softmax(rows, columns), [d], powers),
    ]
    for name, triton, mod, inputs, expected in cases:
        arrays = _arrays(setting, *inputs, np.zeros(expected.shape, np.float32))
        moved = sum(array.nbytes for array in arrays)
        ours = _ours(setting, mod, arrays)
        _compare(name, arrays[-1], expected)
        theirs = _theirs(setting, getattr(setting.triton, triton, None), arrays)
        shown = "-" if theirs is None else f"{moved / theirs / copy:.0%}"
        print(f"{name:28}{ours * 1e3:10.3f}{moved / ours / 1e9:10.0f}{moved / ours / copy:12.0%}{shown:>12}")


def _copy_bandwidth(setting: Setting, values: np.ndarray[Any, Any]) -> float:
    """The bytes per second read and written by a copy on the device."""
    source, target = _arrays(setting, values, values)
    source.copyto(target)
    stream = setting.device.current_stream
    start = stream.record()
    for _ in range(NUMBER):
        source.copyto(target)
    return 2 * values.nbytes * NUMBER / stream.record().seconds_since(start)


def _products(setting: Setting) -> None:
    """Prints the speed of matrix products relative to cuBLAS."""
    print(f"\n{'':28}{'ms':>10}{'TFLOP/s':>10}{'of cuBLAS':>12}{'Triton':>12}")
    for size in setting.sizes["gemm"]:
        rng = np.random.default_rng(0)
        a, b = (rng.random((size, size), np.float32) for _ in range(2))
        arrays = _arrays(setting, a, b, np.zeros_like(a))
        ours = _ours(setting, programs.gemm(size), arrays, CONTRACT)
        blas = None
        if setting.torch is None:
            if size <= 2048:
                _compare(f"gemm {size}", arrays[2], a @ b)
        else:
            x, y, z = (setting.torch.from_dlpack(array) for array in arrays)
            error = ((x @ y - z).abs() / (x @ y)).max().item()
            assert error < 1e-4, f"gemm {size}: {error} from cuBLAS"
            blas = _seconds_of_torch(setting, lambda x=x, y=y, z=z: setting.torch.matmul(x, y, out=z))
        theirs = _theirs(setting, getattr(setting.triton, "gemm", None), arrays)
        shown = ["-" if each is None or blas is None else f"{blas / each:.0%}" for each in (ours, theirs)]
        rate = 2 * size**3 / ours / 1e12
        print(f"{f'gemm {size}':28}{ours * 1e3:10.3f}{rate:10.2f}{shown[0]:>12}{shown[1]:>12}")


def _convolutions(setting: Setting) -> None:
    """Prints the speed of convolutions with their epilogue relative to torch with cuDNN."""
    print(f"\n{'':28}{'ms':>10}{'TFLOP/s':>10}{'of cuDNN':>12}")
    for batch, channels, size in setting.sizes["convolution"]:
        rng = np.random.default_rng(0)
        shapes = [(batch, channels, size, size), (channels, channels, 3, 3), (channels,), (channels,)]
        values = [rng.random(shape, np.float32) - np.float32(0.5) for shape in shapes]
        arrays = _arrays(setting, *values, np.zeros(shapes[0], np.float32))
        ours = _ours(setting, programs.convolution(batch, channels, size), arrays, CONTRACT)
        name, part = f"conv+bn+relu {batch}x{channels}x{size}", "-"
        if setting.torch is None:
            _compare(name, arrays[4], _numpy_convolution(*values))
        else:
            a, w, s, b, d = (setting.torch.from_dlpack(array) for array in arrays)
            theirs = partial(_torch_convolution, setting.torch, a, w, s, b)
            error = (theirs() - d).abs().max().item()
            assert error < 1e-2, f"{name}: {error} from cuDNN"
            part = f"{_seconds_of_torch(setting, theirs) / ours:.0%}"
        rate = 2 * 9 * batch * channels**2 * size**2 / ours / 1e12
        print(f"{name:28}{ours * 1e3:10.3f}{rate:10.2f}{part:>12}")


def _torch_convolution(torch: Any, a: Any, w: Any, s: Any, b: Any) -> Any:
    """The reference convolution of torch."""
    return torch.relu_(torch.addcmul(b[:, None, None], torch.nn.functional.conv2d(a, w, padding=1), s[:, None, None]))


def _numpy_convolution(a: Any, w: Any, s: Any, b: Any) -> Any:
    """The reference convolution of numpy."""
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    size = a.shape[2]
    windows = [padded[:, :, y : y + size, x : x + size] for y in range(3) for x in range(3)]
    sums = sum(np.einsum("nchw,fc->nfhw", window, w[:, :, n // 3, n % 3]) for n, window in enumerate(windows))
    return np.maximum(sums * s[:, None, None] + b[:, None, None], 0)


def _seconds_of_torch(setting: Setting, run: Callable[[], Any]) -> float:
    run()
    stream = setting.device.current_stream  # also torch's stream, by default
    times: list[float] = []
    for _ in range(REPEAT):
        start = stream.record()
        for _ in range(NUMBER):
            run()
        times.append(stream.record().seconds_since(start) / NUMBER)
    return sorted(times)[REPEAT // 2]


def _models(setting: Setting) -> None:
    """Prints the time of models of torchvision, and that of torch, eager and as a CUDA graph."""
    models, importer = _module("torchvision.models"), _module("stepwell.frontends.torch")
    if setting.torch is None or models is None or importer is None or not setting.sizes["models"]:
        return
    print(f"\n{'':28}{'ms':>10}{'launches':>10}{'of torch':>12}{'of a graph':>12}")
    for name, batch in setting.sizes["models"]:
        setting.torch.manual_seed(0)
        model = getattr(models, name)(weights=None).eval()
        image = setting.torch.rand(batch, 3, 224, 224)
        with setting.torch.no_grad():
            graph = importer.from_torch(setting.torch.export.export(model, (image,)))
            model, image = model.cuda(), image.cuda()
            executor = GraphExecutor(build_graph(graph, target=setting.target + CONTRACT), setting.device)
            executor.set_input(0, image)
            executor.run()
            error = (setting.torch.from_dlpack(executor.get_output(0)) - model(image)).abs().max().item()
            assert error < 1e-3, f"{name}: {error} from torch"
            times = [_seconds_of_torch(setting, run) for run in (executor.run, partial(model, image))]
            replay = setting.torch.cuda.CUDAGraph()
            with setting.torch.cuda.graph(replay):
                model(image)
            times.append(_seconds_of_torch(setting, replay.replay))
        launches = len(executor.executable.calls)
        parts = "".join(f"{each / times[0]:12.0%}" for each in times[1:])
        print(f"{f'{name} {batch}x3x224x224':28}{times[0] * 1e3:10.3f}{launches:10}{parts}")


def _launches(setting: Setting) -> None:
    """Prints the host time of a call of a nearly empty kernel."""
    arrays = _arrays(setting, *np.zeros((3, 1024), np.float32))
    function = stepwell.build(programs.add(1024), target=setting.target)["main"]
    number = 10000 if setting.device.kind == "cuda" else 3
    bound = function.bind(*arrays)
    print(f"\n{'a launch':28}{'us':>10}")
    for name, run in (("called", lambda: function(*arrays)), ("bound", bound)):
        run()
        setting.device.sync()
        start = time.perf_counter()
        for _ in range(number):
            run()
        taken = time.perf_counter() - start
        setting.device.sync()
        print(f"{name:28}{taken / number * 1e6:10.2f}")


PARTS = {
    "bandwidth": _bandwidth,
    "products": _products,
    "convolutions": _convolutions,
    "models": _models,
    "launches": _launches,
}

if __name__ == "__main__":
    main()
