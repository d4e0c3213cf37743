"""Former place of `stepwell.analysis`: the modules that docs/extending.md has shown."""
