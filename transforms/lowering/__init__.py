"""The parts of `convert-tir-to-scf`: one module per kind of operation, each with its table of handlers."""
