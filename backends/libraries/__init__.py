"""Libraries that Stepwell knows by itself, each named by an entry point of the group `stepwell.libraries`."""
