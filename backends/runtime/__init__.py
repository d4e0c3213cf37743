"""Calling compiled code: arguments, packed functions, callable modules."""
