"""Patterns of `canonicalize`, one module per dialect; the operations' traits import them."""
