"""Workloads for a target, and their search: `tvm.auto_scheduler.search_task`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....core.errors import OptionError
from ....expressions.tensor import Tensor
from .. import driver
from ..absent import report_absent
from ..ir.module import PrimFunc
from ..target.target import TargetLike, target_of
from .compute_dag import ComputeDAG, LayoutRewriteOption
from .measure import LocalBuilder, LocalRunner, MeasureInput, RPCRunner
from .measure_record import load_best_record
from .search_policy import SearchPolicy, SketchPolicy
from .workload_registry import make_workload_key

__getattr__ = report_absent("tvm.auto_scheduler.search_task")
logger = logging.getLogger("auto_scheduler")


@dataclass(frozen=True)
class HardwareParams:
    """Numbers of a machine, without an effect: default schedules have those of the target."""

    num_cores: int | None = None
    vector_unit_bytes: int | None = None
    cache_line_bytes: int | None = None
    max_shared_memory_per_block: int | None = None
    max_local_memory_per_block: int | None = None
    max_threads_per_block: int | None = None
    max_vthread_extent: int | None = None
    warp_size: int | None = None
    target: Any = None
    target_host: Any = None


@dataclass(frozen=True)
class TuningOptions:
    """The numbers of a search. num_measure_trials: 0 for no measurement. early_stopping, num_measures_per_round:
    ignored. measure_callbacks: called after each measurement. OptionError for another builder or runner than those of
    this machine."""

    num_measure_trials: int = 0
    early_stopping: int | None = None
    num_measures_per_round: int = 64
    verbose: int = 1
    builder: Any = "local"
    runner: Any = "local"
    measure_callbacks: Sequence[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        kinds: tuple[tuple[str, type], ...] = (("builder", LocalBuilder), ("runner", LocalRunner))
        for name, kind in kinds:
            value = getattr(self, name)
            if value == "local":
                object.__setattr__(self, name, kind())
            elif not isinstance(value, kind | RPCRunner):
                raise OptionError(f"TuningOptions: {name} {value!r}, expected 'local' or a {kind.__name__}")
        if self.measure_callbacks is None:  # pyright: ignore[reportUnnecessaryComparison]
            object.__setattr__(self, "measure_callbacks", [])


TASK_INPUT_BUFFER_TABLE: dict[str, dict[str, Any]] = {}
"""The arrays of inputs by name, by the key of a workload."""


def register_task_input_buffer(
    workload_key: str, input_name: str, input_data: Any, overwrite: bool = False, save_to_file: bool = False
) -> Any:
    """Registers the array of an input, and returns the registered one: the first of a name, unless `overwrite`.
    save_to_file: ignored, no files are written."""
    arrays = TASK_INPUT_BUFFER_TABLE.setdefault(workload_key, {})
    if overwrite or input_name not in arrays:
        arrays[input_name] = input_data
    return arrays[input_name]


def get_task_input_buffer(workload_key: str, input_name: str) -> Any:
    """The registered array of an input. OptionError without one."""
    arrays = TASK_INPUT_BUFFER_TABLE.get(workload_key, {})
    if input_name not in arrays:
        known = ", ".join(arrays) or "none"
        raise OptionError(f"workload {workload_key}: no array of input {input_name!r}, there is {known}")
    return arrays[input_name]


class SearchTask:
    """A workload for a target.

    compute_dag: the tensors.  workload_key: the name of the function and the arguments.  desc: of the operators of a
    graph.  input_arrays: the arrays of inputs whose values matter.
    """

    def __init__(
        self,
        func: str | Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        compute_dag: ComputeDAG | None = None,
        workload_key: str | None = None,
        target: TargetLike | None = None,
        target_host: TargetLike | None = None,
        hardware_params: HardwareParams | None = None,
        layout_rewrite_option: Any = None,
        task_inputs: Mapping[str, Any] | Sequence[str] | None = None,
        task_inputs_overwrite: bool = False,
        task_inputs_save_to_file: bool = False,
        desc: str = "",
    ):
        """func: a function of `register_workload`, or its name, with its arguments; else the key of a workload.
        task_inputs: arrays by the names of tensors, or the names of arrays of `register_task_input_buffer`.
        task_inputs_overwrite: whether they replace registered arrays.  Ignored are hardware_params, the layout and the
        files of inputs. OptionError without a function and a key, for an unknown key, and for an unknown array."""
        if func is not None:
            workload_key = make_workload_key(func, args or ())
        if workload_key is None:
            raise OptionError("SearchTask: expected a function with arguments, or the key of a workload")
        self.workload_key = workload_key
        self.compute_dag = ComputeDAG(workload_key) if compute_dag is None else compute_dag
        self.target = self.compute_dag.target = target_of(target, target_host)
        self.target_host = self.target.host
        self.hardware_params = hardware_params or HardwareParams()
        self.layout_rewrite_option = layout_rewrite_option or LayoutRewriteOption.NO_REWRITE
        if isinstance(task_inputs, Mapping):
            for name, data in task_inputs.items():
                register_task_input_buffer(workload_key, name, data, task_inputs_overwrite)
        self.task_input_names = list(task_inputs or ())
        self.input_arrays = {name: get_task_input_buffer(workload_key, name) for name in self.task_input_names}
        self.desc = desc

    def tune(
        self,
        tuning_options: TuningOptions,
        search_policy: SearchPolicy | None = None,
        adaptive_training: bool = False,
    ) -> None:
        """Measures the default schedule, once whatever the number of trials. Its record is passed to the callbacks of
        the options. search_policy: by default `SketchPolicy`."""
        options = tuning_options
        policy = SketchPolicy(self) if search_policy is None else search_policy
        result = policy.search(options.num_measure_trials, options.builder, options.runner, options.measure_callbacks)
        if result is not None and result.error_no != 0:
            logger.warning("The default schedule of %s could not be measured: %s", self.workload_key, result.error_msg)

    def apply_best(
        self, log_file: str | os.PathLike[str], include_compatible: bool = False, layout_rewrite_option: Any = None
    ) -> tuple[Any, list[Tensor]]:
        """The schedule of the fastest record, and its tensors: `tvm.lower(sch, args)`, `tvm.build(sch, args, target)`.

        log_file: has a record of the workload, else OptionError. A record of TVM has TVM's schedule. Errors as of
        `ComputeDAG.apply_steps_from_state`.
        """
        return self.compute_dag.apply_steps_from_state(self._best(log_file).state)

    def _best(self, log_file: str | os.PathLike[str]) -> MeasureInput:
        inp, _ = load_best_record(log_file, self.workload_key)
        if inp is None:
            raise OptionError(f"no valid schedule for {self.workload_key} in file {os.fspath(log_file)}")
        return inp

    def print_best(self, log_file: str | os.PathLike[str], print_mode: str = "schedule") -> str:
        """The schedule of a record as text. print_mode: "schedule" for statements of Python on a `tvm.tir.Schedule`,
        "cuda" for the source of the kernel. OptionError for another mode, and as of `apply_best`."""
        inp = self._best(log_file)
        if print_mode == "schedule":
            return self.compute_dag.print_python_code_from_state(inp.state)
        if print_mode == "cuda":
            return driver.build(*self.apply_best(log_file), self.target).imported_modules[0].get_source()
        raise OptionError(f"print_best: print_mode {print_mode!r}, expected 'schedule' or 'cuda'")

    def __repr__(self) -> str:
        return f"SearchTask({self.workload_key}, {self.target})"


def create_task(
    func: str | Callable[..., Any],
    args: Sequence[Any],
    target: TargetLike,
    target_host: TargetLike | None = None,
    hardware_params: HardwareParams | None = None,
) -> SearchTask:
    """A `SearchTask`, under the name of v0.7."""
    return SearchTask(func, args, target=target, target_host=target_host, hardware_params=hardware_params)


def auto_schedule(
    task: SearchTask, search_policy: SearchPolicy | None = None, tuning_options: TuningOptions | None = None
) -> tuple[PrimFunc, list[Tensor]]:
    """Measures as `SearchTask.tune`, and returns the kernel with its schedule and its tensors, under the name of
    v0.7."""
    task.tune(tuning_options or TuningOptions(), search_policy)
    return task.compute_dag.apply_steps_from_state(task.compute_dag.init_state)


__all__ = [
    "TASK_INPUT_BUFFER_TABLE", "HardwareParams", "SearchTask", "TuningOptions", "auto_schedule", "create_task",
    "get_task_input_buffer", "register_task_input_buffer",
]  # fmt: skip
