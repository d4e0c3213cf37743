"""`stepwell profile FILE`: the kernels of a program in the roofline model of this machine."""
