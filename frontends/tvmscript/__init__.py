"""TVMScript text and decorated Python functions into the `tir` dialect."""
