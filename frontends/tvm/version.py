"""The version of TVM whose API this package provides."""

__version__ = "0.16.0"
