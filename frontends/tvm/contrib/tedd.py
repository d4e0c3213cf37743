"""Graphs of schedules of tensors in the language of Graphviz: `tvm.contrib.tedd`.

Each function returns the text of a graph with `output_dot_string`, and writes it to `dot_file_path`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ....core.errors import OptionError
from ....expressions.axes import IterVar
from ....expressions.tensor import PlaceholderOp, Tensor
from ...te import Schedule, Stage
from ...te.stage import Fuse, Split
from ..absent import report_absent
from .graphviz import edge, node, quoted

__getattr__ = report_absent("tvm.contrib.tedd")


def viz_dataflow_graph(
    sch: Schedule,
    show_svg: bool = False,
    dot_file_path: str | os.PathLike[str] = "",
    output_dot_string: bool = False,
) -> str | None:
    """The stages of a schedule and the tensors between them."""
    return _output("Dataflow Graph", _dataflow(sch), show_svg, dot_file_path, output_dot_string)


def viz_schedule_tree(
    sch: Schedule,
    show_svg: bool = False,
    dot_file_path: str | os.PathLike[str] = "",
    output_dot_string: bool = False,
) -> str | None:
    """The stages of a schedule with their loops, below the loop or the root where each is computed."""
    return _output("Schedule Tree", _tree(sch), show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Schedule,
    show_svg: bool = False,
    dot_file_path: str | os.PathLike[str] = "",
    output_dot_string: bool = False,
) -> str | None:
    """The axes of each stage, and the splits and fusions that lead from its operation's axes to its loops."""
    return _output("IterVar Relationship Graph", _relations(sch), show_svg, dot_file_path, output_dot_string)


def _output(
    title: str, lines: Iterable[str], show_svg: bool, path: str | os.PathLike[str], as_text: bool
) -> str | None:
    if show_svg:
        raise OptionError("show_svg: Graphviz draws graphs, expected dot_file_path or output_dot_string")
    text = "\n".join([f"digraph {quoted(title)} {{", "  node [shape=box]", *(f"  {line}" for line in lines), "}", ""])
    if path:
        Path(path).write_text(text)
    return text if as_text else None


def _stage_name(schedule: Schedule, stage: Stage) -> str:
    return f"stage {schedule.stages.index(stage)}"


def _scope(stage: Stage) -> str:
    scopes = [str(step.arguments[-1]) for step in stage.steps if step.primitive == "set_scope"]
    return scopes[-1] if scopes else "global"


def _dataflow(schedule: Schedule) -> Iterator[str]:
    written: set[Tensor] = set()
    for stage in schedule.stages:
        name = _stage_name(schedule, stage)
        kind = "placeholder" if isinstance(stage.op, PlaceholderOp) else type(stage.op).__name__
        yield node(name, f"{stage.name}\n{kind}, {_scope(stage)}")
        for index in range(stage.op.num_outputs):
            tensor = stage.op.output(index)
            written.add(tensor)
            yield node(_tensor_name(schedule, tensor), f"{tensor.shape} {tensor.dtype}", shape="oval")
            yield edge(name, _tensor_name(schedule, tensor))
    for stage in schedule.stages:
        for tensor in stage.op.input_tensors:
            current = schedule.current(tensor)
            if current in written:
                yield edge(_tensor_name(schedule, current), _stage_name(schedule, stage))


def _tensor_name(schedule: Schedule, tensor: Tensor) -> str:
    return f"tensor {schedule.stages.index(schedule[tensor])}.{tensor.value_index}"


def _tree(schedule: Schedule) -> Iterator[str]:
    yield node("root", "ROOT")
    for stage in schedule.stages:
        if isinstance(stage.op, PlaceholderOp):
            continue
        attachment = stage.attachment
        is_inlined = attachment is not None and attachment.stage is None
        name = _stage_name(schedule, stage)
        yield node(name, f"{stage.name}{' (inlined)' if is_inlined else ''}\nscope: {_scope(stage)}")
        last = name
        for axis in [] if is_inlined else stage.leaf_iter_vars:
            loop = _axis_name(schedule, stage, axis)
            yield node(loop, _loop_label(stage, axis), shape="oval")
            yield edge(last, loop)
            last = loop
        if attachment is None or attachment.stage is None or attachment.axis is None:
            yield edge("root", name)
        else:
            yield edge(_axis_name(schedule, attachment.stage, attachment.axis), name)


def _axis_name(schedule: Schedule, stage: Stage, axis: IterVar) -> str:
    return f"{_stage_name(schedule, stage)} axis {axis.var.name}"


def _loop_label(stage: Stage, axis: IterVar) -> str:
    attributes = stage.attributes.get(axis)
    words = [axis.var.name, axis.kind]
    if attributes is not None and attributes.kind is not None:
        words.append(attributes.kind)
    if attributes is not None and attributes.thread is not None:
        words.append(attributes.thread.thread_tag)
    return " ".join(words)


def _relations(schedule: Schedule) -> Iterator[str]:
    for stage in schedule.stages:
        if isinstance(stage.op, PlaceholderOp):
            continue
        name = _stage_name(schedule, stage)
        yield node(name, stage.name)
        for axis in stage.axes:
            yield node(_axis_name(schedule, stage, axis), _domain_label(axis), shape="oval")
            yield edge(name, _axis_name(schedule, stage, axis))
        for number, relation in enumerate(stage.relations):
            match relation:
                case Split(parent, outer, inner, factor, nparts):
                    size = f"factor {factor}" if nparts is None else f"nparts {nparts}"
                    yield from _step(schedule, stage, number, f"split {size}", [parent], [outer, inner])
                case Fuse(axes, fused):
                    yield from _step(schedule, stage, number, "fuse", axes, [fused])
                case _:
                    pass


def _step(
    schedule: Schedule, stage: Stage, number: int, label: str, sources: Iterable[IterVar], targets: Iterable[IterVar]
) -> Iterator[str]:
    name = f"{_stage_name(schedule, stage)} step {number}"
    yield node(name, label)
    for axis in sources:
        yield edge(_axis_name(schedule, stage, axis), name)
    for axis in targets:
        yield node(_axis_name(schedule, stage, axis), f"{axis.var.name} {axis.kind}", shape="oval")
        yield edge(name, _axis_name(schedule, stage, axis))


def _domain_label(axis: IterVar) -> str:
    domain = "" if axis.dom is None else f" [{axis.dom.min}, +{axis.dom.extent})"
    return f"{axis.var.name} {axis.kind}{domain}"


__all__ = ["viz_dataflow_graph", "viz_itervar_relationship_graph", "viz_schedule_tree"]
