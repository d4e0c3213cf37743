"""Dialects into something that runs."""
