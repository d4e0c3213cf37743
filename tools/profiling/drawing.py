"""The roofline of a profile as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.graph.profile import thread_count
from ...core.errors import OptionError, PluginError
from .kernels import Kernel
from .machine import MachineLimits

FORMATS = (".svg", ".png", ".pdf")
"""The suffixes of pictures."""
_LABELS = 8
"""The number of kernels with a name in the picture: those that take the most time."""


def draw(kernels: Sequence[Kernel], limits: Sequence[MachineLimits], path: Path, title: str) -> None:
    """Writes the roofline of each number of threads, with a point for each kernel whose workload is known.

    The area of a point is the share of the kernel in the time. Raises OptionError for a file of another kind,
    PluginError without matplotlib, OSError.
    """
    check_format(path)
    try:
        # lazy: an optional dependency
        from matplotlib.figure import Figure  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise PluginError("a picture needs matplotlib: pip install 'stepwell[plot]'") from error
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.add_subplot()
    points = [each for each in kernels if each.workload is not None and each.workload.intensity > 0]
    intensities = [each.workload.intensity for each in points if each.workload is not None]
    ridges = [each.ridge for each in limits]
    span = np.geomspace(min([*intensities, *ridges]) / 4, max([*intensities, *ridges]) * 4, 200)
    for number, each in enumerate(limits):
        label = f"{thread_count(each.threads)}: {each.operations / 1e9:.0f} Gop/s, {each.bandwidth / 1e9:.0f} GB/s"
        axes.plot(span, [each.limit(x) / 1e9 for x in span], color=f"C{number}", label=label)
        _draw_points(axes, points, each, f"C{number}", is_labelled=number == 0)
    axes.set(xscale="log", yscale="log", xlabel="operations for each byte", ylabel="Gop/s", title=title)
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(loc="lower right")
    figure.savefig(path)


def check_format(path: Path) -> None:
    """Raises OptionError for a file that is no picture."""
    if path.suffix not in FORMATS:
        raise OptionError(f"{path}: expected a picture that ends in {', '.join(FORMATS)}")


def _draw_points(axes: Any, points: Sequence[Kernel], limits: MachineLimits, color: str, is_labelled: bool) -> None:
    whole = sum(each.seconds[limits.threads] for each in points)
    ordered = sorted(points, key=lambda each: -each.seconds[limits.threads])
    for rank, each in enumerate(ordered):
        assert each.workload is not None
        seconds = each.seconds[limits.threads]
        x, y = each.workload.intensity, each.workload.operations / seconds / 1e9
        axes.scatter([x], [y], s=20 + 600 * seconds / whole, color=color, alpha=0.6, edgecolors="black", linewidths=0.5)
        if is_labelled and rank < _LABELS:
            axes.annotate(each.name, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=7)
