"""What `convert-tir-to-scf` is made of: one module per kind of operation, each with its table of handlers."""
