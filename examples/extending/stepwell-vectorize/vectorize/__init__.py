"""What this package adds to every tool that reads `xdsl.universe`. They all import this file: nothing is loaded yet."""

from functools import partial
from pkgutil import resolve_name

from xdsl.universe import Universe

UNIVERSE = Universe(
    all_passes={"vectorize-inner-loops": partial(resolve_name, "vectorize.inner_loops:VectorizeInnerLoopsPass")},
)
