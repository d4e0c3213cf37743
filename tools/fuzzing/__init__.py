"""`stepwell fuzz`: random search for programs that a stage of the compiler treats wrongly."""
