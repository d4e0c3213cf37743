"""The additions of this package to tools that read `xdsl.universe`. They import this file at start: load nothing."""

from functools import partial
from pkgutil import resolve_name

from xdsl.universe import Universe

UNIVERSE = Universe(all_dialects={"sat": partial(resolve_name, "sat.dialect:Sat")})
