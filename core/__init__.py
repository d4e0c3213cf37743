"""Utilities shared by every layer: errors, source locations, data types, xDSL workarounds."""

from . import lazy_formats as lazy_formats
