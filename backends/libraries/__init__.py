"""The built-in libraries, each named by an entry point of the group `stepwell.libraries`."""
