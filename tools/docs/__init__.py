"""Generators of the pages of docs/ that contain the output of programs.

`python -m stepwell.tools.docs` in the root of the repository regenerates the pages; the tests compare.
"""

from .extending import extending_page
from .operators import operators_page
from .pages import run_page
from .passes import passes_page
from .primitives import primitives_page

__all__ = ["extending_page", "operators_page", "passes_page", "primitives_page", "run_page"]
