"""The families of cases, by name."""

from ..case import Family
from .files import check_changed_artifact, check_changed_model, check_saved_graph
from .graphs import check_compiled_graph, check_graph_pass, check_onnx
from .launches import check_graph_of_kernels, check_thread_program, check_thread_reduction
from .programs import check_names, check_native, check_texts, check_tir_pass, check_tvmscript
from .schedules import check_schedule, check_te_schedule
from .tensors import check_tensors

FAMILIES = {
    family.name: family
    for family in (
        Family("tvmscript", "mutated TVMScript is a program or a ParseError", check_tvmscript),
        Family("texts", "MLIR text, TVMScript and TVM's nodes are read back as the same program", check_texts),
        Family("names", "names with a meaning in other languages change nothing", check_names),
        Family("tir", "each pass on loops keeps the results of the oracle", check_tir_pass),
        Family("native", "native code and the interpreter compute the oracle's results", check_native),
        Family("schedules", "primitives keep the results of a program, and traces replay", check_schedule),
        Family("te", "native code, the oracle and the interpreter agree on tensor expressions", check_tensors),
        Family("te-schedules", "legacy schedules of stages keep the results of numpy", check_te_schedule),
        Family("relay", "passes on graphs keep their results", check_graph_pass),
        Family("graphs", "compiled graphs compute numpy's results", check_compiled_graph),
        Family("onnx", "ONNX models compute the results of the reference evaluator, and of onnxruntime", check_onnx),
        Family("models", "changed ONNX models are imported, or refused with a reason", check_changed_model),
        Family("saving", "saved and loaded graphs compute the same", check_saved_graph),
        Family("artifacts", "changed files of saved programs are refused, or change nothing", check_changed_artifact),
        Family(
            "threads", "emulated reductions over threads compute the oracle's results", check_thread_reduction, False
        ),
        Family("thread-programs", "communicating threads compute the oracle's results", check_thread_program, False),
        Family("kernels", "graphs of emulated kernels compute numpy's results", check_graph_of_kernels, False),
    )
}
