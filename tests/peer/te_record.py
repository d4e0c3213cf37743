"""Prints the results of TVM, imported by the running Python, for the corpus of tensor expressions, as JSON.

    python tests/peer/te_record.py > tests/data/te/tvm-0.27.json    # each case's function as text, or the error
    python tests/peer/te_record.py --compute                        # the cases whose results differ from numpy's, and
    how

The corpus is imported from its folder, because this Python need not have Stepwell.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Namespace:
    """The functions of TVM 0.27 under the names used by cases."""

    def __init__(self, te: Any, tirx: Any) -> None:
        self._modules = (te, tirx)
        self.size_var = te.var
        self.prod = self._reducer(lambda x, y: x * y, 1, "prod")
        self._all = self._reducer(lambda x, y: tirx.all(x, y), True, "all")
        self._any = self._reducer(lambda x, y: tirx.any(x, y), False, "any")

    def _reducer(self, combine: Any, identity: Any, name: str) -> Any:
        te = self._modules[0]
        return te.comm_reducer(combine, lambda dtype: te.const(identity, dtype), name=name)

    def all(self, *conditions: Any, axis: Any = None) -> Any:
        return self._modules[1].all(*conditions) if axis is None else self._all(*conditions, axis=axis)

    def any(self, *conditions: Any, axis: Any = None) -> Any:
        return self._modules[1].any(*conditions) if axis is None else self._any(*conditions, axis=axis)

    def __getattr__(self, name: str) -> Any:
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"TVM has no {name}")


def problem(error: Exception) -> str:
    """The type of an error and the start of its message."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


def recorded(case: Any, tvm: Any, namespace: Namespace) -> dict[str, str]:
    """The text of the function of a case, or the error."""
    try:
        function = tvm.te.create_prim_func(case.build(namespace), index_dtype_override=case.index_dtype)
    except Exception as error:
        return {"error": problem(error)}
    return {"script": function.script()}


def difference(case: Any, tvm: Any, namespace: Namespace) -> str | None:
    """The difference between the results of the compiled function and numpy's, or the error; None if they agree."""
    import numpy as np

    function = tvm.te.create_prim_func(case.build(namespace), index_dtype_override=case.index_dtype)
    inputs = case.inputs(namespace)
    expected = case.reference_outputs(inputs)
    # Unwritten elements are visible.
    outputs = [tvm.runtime.tensor(np.full(each.shape, 77, each.dtype)) for each in expected]
    given = [each if isinstance(each, int | float) else tvm.runtime.tensor(each) for each in inputs]
    try:
        compiled = tvm.compile(tvm.IRModule({"main": function}), target="llvm")
        compiled["main"](*case.arguments(given, outputs))
    except Exception as error:
        return problem(error)
    wrong = [i for i, (output, each) in enumerate(zip(outputs, expected)) if case.differs(output.numpy(), each)]
    return f"outputs {wrong}" if wrong else None


def main() -> None:
    sys.path.append(str(ROOT / "tools" / "testing"))
    cases = importlib.import_module("te").CASES
    tvm: Any = importlib.import_module("tvm")
    tvm.te = importlib.import_module("tvm.te")
    namespace = Namespace(tvm.te, importlib.import_module("tvm.tirx"))
    if "--compute" in sys.argv[1:]:
        answers: dict[str, Any] = {
            case.name: difference(case, tvm, namespace) for case in cases if case.runs and not case.tvm_refuses
        }
        answers = {name: answer for name, answer in answers.items() if answer is not None}
    else:
        answers = {case.name: recorded(case, tvm, namespace) for case in cases}
    json.dump(answers, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
