"""Passes on programs of `relax`."""
