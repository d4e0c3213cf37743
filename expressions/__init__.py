"""Tensor expressions in Python: immutable nodes, and their translation to IR.

Users access this package through `stepwell.te` (`frontends/te`), which adds functions and schedules. The operators of
graphs are defined as tensor expressions.
"""
