"""Which function lowers which operator, by name. Names of functions, methods and aten operators share one table."""

LOWERINGS = {}
SHAPED = {}  # operators that need elements to run: functions of the same arguments that give an empty result


def lowers(*names):
    def register(function):
        for name in names:
            LOWERINGS[name] = function
        return function
    return register


def shaped(*names):
    def register(function):
        for name in names:
            SHAPED[name] = function
        return function
    return register


class Call:
    """One operator call: the graph and what the operator gave. `shape` and `dtype` are those of the first result."""

    def __init__(self, graph, results):
        self.graph, self.results = graph, results
        self.shape = list(results[0].shape) if results else []
        self.dtype = results[0].dtype if results else None
