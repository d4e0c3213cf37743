"""What every layer uses and no layer owns: errors, source locations, data types, xDSL workarounds."""
