"""Shared infrastructure of the tests: hypothesis strategies, generators of random programs, and checks."""
