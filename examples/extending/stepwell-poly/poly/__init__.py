"""The additions of this package to tools that read `xdsl.universe`. They import this file at start: load nothing."""

from functools import partial
from pkgutil import resolve_name

from xdsl.universe import Universe

UNIVERSE = Universe(all_dialects={"poly": partial(resolve_name, "poly.dialect:Poly")})
