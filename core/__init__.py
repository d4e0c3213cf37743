"""Utilities shared by every layer: errors, source locations, data types, xDSL workarounds."""
