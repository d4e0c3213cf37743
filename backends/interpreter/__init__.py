"""Reference semantics: what a program computes, independent of the way down."""
