"""Programs for the command line: `stepwell-opt`, `stepwell`, and the entry points for the tools of xDSL."""
