"""Quantization of graphs of floats: products of floats become products of int8 with sums in int32.

The operands of the products are quantized and dequantized first, which simulates the integers; then operators on
dequantized numbers become operators on the integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .....core.errors import OptionError
from ....relay.expr import Call, Constant, Expr, Function, const, operator_name
from ....relay.expr import call as new_call
from ....relay.functor import ExprMutator, post_order
from ...ir.module import IRModule
from ...transform import FunctionalPass, PassContext, PassInfo, Sequential, no_change
from .. import transform
from ..building import bind_params_by_name, record_bound
from .calibration import Array, divergence_range, greatest, numbers_of, percentile_range, power_of_two
from .config import QConfig, current_qconfig

PRODUCTS = ("nn.conv2d", "nn.dense", "nn.batch_matmul")
"""The operators that are quantized."""
RANGES: dict[str, Callable[[Array], float]] = {"kl_divergence": divergence_range, "percentile": percentile_range}
"""The ranges of data that a dataset determines, by `calibrate_mode`."""
WEIGHT_RANGES: dict[str, Callable[[Array], float]] = {"max": greatest, "power2": power_of_two}

Dataset = Iterable[Mapping[str, Any]]


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module with parameters as constants, without norms of inference and scales of weights, and with folded
    constants. params: by name; those that the graph lacks are ignored."""
    bound: list[str] = []
    if params:
        bound = [param.name_hint for param in mod["main"].params if param.name_hint in params]
        mod = bind_params_by_name(mod, {name: params[name] for name in bound})
    passes = [
        transform.DefuseOps(),
        transform.SimplifyInference(),
        transform.FoldConstant(),
        transform.FoldScaleAxis(),
        transform.CanonicalizeOps(),
        transform.FoldConstant(),
    ]
    with PassContext(opt_level=3):
        mod = Sequential(passes)(mod)
    return record_bound(mod, bound)


def products_of(func: Function, config: QConfig) -> list[Call]:
    """The products of a graph that a configuration quantizes: those of float32, with constant weights except for
    batches of matrices, unless it skips them."""
    found: list[Call] = []
    convolutions = 0
    for node in post_order(func):
        name = operator_name(node)
        if not isinstance(node, Call) or name not in PRODUCTS:
            continue
        is_skipped = name == "nn.conv2d" and convolutions in (config.skip_conv_layers or ())
        convolutions += name == "nn.conv2d"
        if not is_skipped and config.enables(name) and _has_integers(node):
            found.append(node)
    return found


def _has_integers(product: Call) -> bool:
    """Whether an operator on integers computes a product of these operands."""
    attrs: Any = product.attrs
    if operator_name(product) == "nn.batch_matmul":
        is_known = not attrs.transpose_a and attrs.transpose_b
    else:
        is_known = isinstance(product.args[1], Constant)
    return is_known and all(arg.checked_type.dtype == "float32" for arg in product.args)


def calibrate(dataset: Dataset | None = None) -> FunctionalPass:
    """Quantizes and dequantizes the operands of products, with the scales of the current configuration.

    dataset: inputs of the graph by name, for the modes `kl_divergence` and `percentile`.
    """

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        config = current_qconfig()
        samples = None if dataset is None else [*dataset]
        return transform.on_graphs(lambda func: _simulated(func, config, samples), mod)

    return FunctionalPass(run, PassInfo(1, "QuantizeCalibrate"))


def _simulated(func: Function, config: QConfig, dataset: list[Mapping[str, Any]] | None) -> Function:
    products = products_of(func, config)
    operands = [arg for product in products for arg in product.args]
    data = [*dict.fromkeys(each for each in operands if not isinstance(each, Constant))]
    ranges = [config.global_scale] * len(data)
    if config.calibrate_mode in RANGES:
        if not dataset:
            raise OptionError(f"quantize: no dataset, expected inputs for calibrate_mode {config.calibrate_mode!r}")
        numbers = numbers_of(func, data, dataset, config.calibrate_chunk_by)
        ranges = [RANGES[config.calibrate_mode](each) for each in numbers]
    return _Simulation(products, dict(zip(data, ranges, strict=True)), config).visit(func)


class _Simulation(ExprMutator):
    """Quantizes and dequantizes the operands of products. ranges: of their data."""

    def __init__(self, products: list[Call], ranges: Mapping[Expr, float], config: QConfig):
        super().__init__()
        self.products = set(products)
        self.ranges = ranges
        self.config = config
        self.rounded: dict[Expr, Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        if call not in self.products:
            return new
        assert isinstance(new, Call)
        return new.with_args([*map(self._rounded, call.args, new.args)])

    def _rounded(self, old: Expr, new: Expr) -> Expr:
        return self._weight(old) if isinstance(old, Constant) else self._data(old, new)

    def _data(self, old: Expr, new: Expr) -> Expr:
        if old not in self.rounded:
            bits, dtype = self.config.nbit_input, self.config.dtype_input
            parameters = [const(np.float32(_step(self.ranges[old], bits))), const(np.int32(0))]
            integers = new_call("qnn.quantize", new, *parameters, out_dtype=dtype)
            inside = new_call("clip", integers, a_min=-_most(bits), a_max=_most(bits))
            self.rounded[old] = new_call("qnn.dequantize", inside, *parameters)
        return self.rounded[old]

    def _weight(self, weight: Constant) -> Expr:
        bits = self.config.nbit_weight
        step = _step(WEIGHT_RANGES[self.config.weight_scale](weight.array), bits)
        integers = np.clip(np.rint(weight.array / step), -_most(bits), _most(bits)).astype(self.config.dtype_weight)
        return new_call("qnn.dequantize", const(integers), const(np.float32(step)), const(np.int32(0)))


def _step(range: float, bits: int) -> float:
    """The scale of integers with a number of bits that represent numbers of a range."""
    return range / 2 ** (bits - 1)


def _most(bits: int) -> int:
    """The greatest integer of a number of bits; the least one is its negative."""
    return 2 ** (bits - 1) - 1


def partition() -> FunctionalPass:
    """Leaves a module as it is: `calibrate` finds the operators that are computed on integers."""
    return no_change("QuantizePartition")


def annotate() -> FunctionalPass:
    """Leaves a module as it is: `calibrate` quantizes the operands of these operators."""
    return no_change("QuantizeAnnotate")


def realize() -> FunctionalPass:
    """Computes operators on dequantized numbers on the integers; the others stay on floats."""

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        whole = transform.FakeQuantizationToInteger(use_qat=True)(mod)
        rounding = current_qconfig().rounding
        rounded = transform.on_graphs(lambda func: _Rounding(rounding).visit(func), whole)
        return transform.EliminateCommonSubexpr()(rounded)

    return FunctionalPass(run, PassInfo(1, "QuantizeRealize"))


class _Rounding(ExprMutator):
    """Sets the rounding of sums to the integers of the next operator."""

    def __init__(self, rounding: str):
        super().__init__()
        self.rounding = rounding

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        if operator_name(call) != "qnn.requantize":
            return new
        assert isinstance(new, Call)
        return new.with_args(new.args, {"rounding": self.rounding})


def quantize(mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Dataset | None = None) -> IRModule:
    """A module whose convolutions and products of matrices with constant weights are computed on integers, as the
    current configuration says; other operators stay on floats, unless they only depend on integers and determine them.

    params: arrays of parameters that become constants.  dataset: inputs of the graph by name, for the calibration.
    OptionError for a calibration without its dataset.
    """
    mod = calibrate(dataset)(prerequisite_optimize(mod, params))
    if not current_qconfig().do_simulation:
        mod = realize()(mod)
    return transform.InferType()(mod)
