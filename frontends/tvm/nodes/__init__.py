"""Programs as trees of immutable nodes, in the shape of TVM's."""
