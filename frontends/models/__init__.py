"""The parts of a front end of models that do not depend on the format of the models: values at import time, the builder
of the graph, and results of operators that several formats share."""
