"""What is run rather than imported: `stepwell-opt`, `stepwell`, and what plugs us into xDSL's own tools."""
