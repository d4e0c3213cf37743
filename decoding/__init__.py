"""Decoding of token sequences: the cache of keys and values, and the packed functions by which programs use it."""

from . import packed
from .cache import KVCache
from .pages import PagePool
from .rotary import Rotary

__all__ = ["KVCache", "PagePool", "Rotary", "packed"]
