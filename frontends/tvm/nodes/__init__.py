"""Programs as trees of immutable nodes, modeled on TVM's."""
