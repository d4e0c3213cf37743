"""Analyses of programs, which passes query and which change nothing."""
