"""The additions of this package. Its modules are imported when a graph, a model or a schedule needs them."""

from stepwell.dialects.extensions import Extension

EXTENSION = Extension(operators="gates.operators", importers="gates.importers", primitives="gates.primitives")
