"""Analyses of programs: queries of passes, without changes of the program."""
