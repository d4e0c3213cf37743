"""Tensor expressions in Python: immutable nodes, and their form in IR.

Users find all of it in `stepwell.te` (`frontends/te`), which adds functions and schedules; operators of graphs are
written in it.
"""
