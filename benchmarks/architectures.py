"""Compares architectures of transformers, in small configurations with random weights, with ONNX Runtime.

    python benchmarks/architectures.py [--models gpt2,vit] [--threads 1,2] [--runs N] [--keep FOLDER]

STEPWELL_TORCH is a Python with torch, transformers and onnxscript, which exports the models to ONNX; onnxruntime and
onnx are packages of the running Python. Each model runs in a new process. Batches of runs of Stepwell and of ONNX
Runtime take turns, with pauses, in which the threads of the other one fall asleep. The columns are the medians, the
ratio of the medians (above 1 Stepwell is ahead), the largest differences from the outputs of ONNX Runtime and of torch,
divided by the largest output, and the seconds to compile. The last line has the least ratio and the geometric mean.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import describe_package, machine, relative_error, result_of_child

BATCH = 8
"""The runs of a batch."""
PAUSE = 0.15
"""The seconds before a batch."""
TOLERANCE = 1e-4

_WIDTHS: dict[str, Any] = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
_BERT: dict[str, Any] = {**_WIDTHS, "intermediate_size": 512, "vocab_size": 1000}
_GROUPED: dict[str, Any] = {**_BERT, "num_key_value_heads": 2}
_PATCHES: dict[str, Any] = {**_WIDTHS, "intermediate_size": 512}
_WHISPER = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "decoder_layers": 2}
TOKENS, IMAGE = "tokens", "image"
MODELS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "albert": ("Albert", {**_BERT, "embedding_size": 64}, TOKENS),
    "beit": ("Beit", {**_PATCHES, "use_relative_position_bias": True}, IMAGE),
    "bloom": ("Bloom", {"hidden_size": 256, "n_layer": 2, "n_head": 4, "vocab_size": 1000}, TOKENS),
    "clip": ("CLIPVision", _PATCHES, IMAGE),
    "convnextv2": ("ConvNextV2", {"hidden_sizes": [48, 96, 192, 384], "depths": [1, 1, 2, 1]}, IMAGE),
    "deberta": ("DebertaV2", {**_BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, TOKENS),
    "deit": ("DeiT", _PATCHES, IMAGE),
    "dinov2": ("Dinov2", {**_WIDTHS, "image_size": 224, "patch_size": 14}, IMAGE),
    "electra": ("Electra", {**_BERT, "embedding_size": 64}, TOKENS),
    "fnet": ("FNet", _PATCHES | {"vocab_size": 1000}, TOKENS),
    "funnel": ("Funnel", {"block_sizes": [1, 1], "d_model": 256, "n_head": 4, "d_inner": 512}, TOKENS),
    "gemma": ("Gemma", {**_GROUPED, "num_key_value_heads": 1, "head_dim": 64}, TOKENS),
    "gpt2": ("GPT2", {"n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 1000}, TOKENS),
    "gptneox": ("GPTNeoX", _BERT, TOKENS),
    "levit": ("Levit", {}, IMAGE),
    "llama": ("Llama", _GROUPED, TOKENS),
    "mistral": ("Mistral", _GROUPED, TOKENS),
    "opt": ("OPT", {**_WIDTHS, "ffn_dim": 512, "vocab_size": 1000, "word_embed_proj_dim": 256}, TOKENS),
    "phi": ("Phi", _BERT, TOKENS),
    "poolformer": ("PoolFormer", {}, IMAGE),
    "qwen2": ("Qwen2", _GROUPED, TOKENS),
    "resnet": ("ResNet", {"depths": [1, 1, 1, 1]}, IMAGE),
    "roberta": ("Roberta", _BERT, TOKENS),
    "segformer": ("Segformer", {}, IMAGE),
    "t5": ("T5", {"d_model": 256, "d_ff": 512, "num_layers": 2, "num_heads": 4, "vocab_size": 1000}, TOKENS),
    "vit": ("ViT", _PATCHES, IMAGE),
    "wav2vec2": ("Wav2Vec2", {**_BERT, "conv_dim": [64] * 7}, (1, 16000)),
    "whisper": ("Whisper", {**_WHISPER, "d_model": 256, "encoder_layers": 2}, (1, 80, 3000)),
    "xlnet": ("XLNet", {"vocab_size": 1000, "d_model": 256, "n_layer": 2, "n_head": 4, "d_inner": 512}, TOKENS),
}  # fmt: skip
"""By name the prefix of the classes of a model and its configuration, its configuration, and its input: 64 tokens, an
image of 224 pixels, or a signal of a shape."""


def export(name: str, folder: str) -> None:
    """Writes a model, its input, and the output of torch. Runs in the Python with transformers."""
    import torch
    import transformers

    prefix, settings, kind = MODELS[name]
    torch.manual_seed(0)
    config = getattr(transformers, f"{prefix}Config")(**settings)
    config.use_cache, config._attn_implementation = False, "eager"
    encoders = {"T5": "T5EncoderModel", "Whisper": "WhisperModel"}
    model = getattr(transformers, encoders.get(prefix, f"{prefix}Model"))(config).eval()
    model = model.encoder if prefix == "Whisper" else model
    shape = (1, 3, 224, 224) if kind == IMAGE else kind
    x = torch.randint(5, 900, (1, 64)) if kind == TOKENS else torch.randn(*shape)

    class Output(torch.nn.Module):
        """The first output of a model."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(x)[0]

    path = str(Path(folder) / "model.onnx")
    names: dict[str, Any] = {"input_names": ["x"], "output_names": ["y"]}
    with torch.no_grad():
        y = Output()(x)
        try:
            torch.onnx.export(Output(), (x,), path, dynamo=True, external_data=False, verbose=False, **names)
        except Exception:  # the other exporter supports other models
            torch.onnx.export(Output(), (x,), path, dynamo=False, opset_version=17, **names)
    np.savez(Path(folder) / "torch.npz", x=x.numpy(), y=y.numpy())


def compare(folder: str, threads: int, runs: int) -> dict[str, Any]:
    """The times, errors and seconds to compile of an exported model."""
    import onnxruntime

    from stepwell.backends.graph import GraphExecutor, build_graph
    from stepwell.frontends.onnx import from_onnx

    path, arrays = f"{folder}/model.onnx", np.load(f"{folder}/torch.npz")
    start = time.perf_counter()
    executor = GraphExecutor(build_graph(from_onnx(path)))
    compiled = time.perf_counter() - start
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    executor.run(x=arrays["x"])
    ours, peer = executor.get_output(0), session.run(None, {"x": arrays["x"]})[0]
    times: tuple[list[float], list[float]] = [], []
    for _ in range(-(-runs // BATCH)):
        for call, taken in zip((executor.run, lambda: session.run(None, {"x": arrays["x"]})), times, strict=True):
            time.sleep(PAUSE)
            call()
            for _ in range(BATCH):
                start = time.perf_counter()
                call()
                taken.append(time.perf_counter() - start)
    medians = [statistics.median(taken) for taken in times]
    errors = [relative_error(ours, expected) for expected in (peer, arrays["y"])]
    return {"ours": medians[0], "peer": medians[1], "errors": errors, "compile": compiled}


def _rows(name: str, folder: Path, options: argparse.Namespace, ratios: dict[int, list[float]]) -> list[str]:
    """The rows of the table for a model, a row for each number of threads."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "torch.npz").exists():
        exported = result_of_child(__file__, os.environ["STEPWELL_TORCH"], "export", name=name, folder=str(folder))
        if "failed" in exported:
            return [f"| {name} | | not exported: {exported['failed'][:150]} | | | | | |"]
    rows: list[str] = []
    for threads in map(int, options.threads.split(",")):
        arguments = {"folder": str(folder), "threads": threads, "runs": options.runs}
        result = result_of_child(__file__, sys.executable, "compare", **arguments)
        if "failed" in result:
            rows.append(f"| {name} | {threads} | failed: {result['failed'][:150]} | | | | | |")
            continue
        ratio = result["peer"] / result["ours"]
        ratios.setdefault(threads, []).append(ratio)
        errors = " | ".join(f"{error:.1e}{'' if error < TOLERANCE else ' WRONG'}" for error in result["errors"])
        milliseconds = f"{result['ours'] * 1e3:.3f} | {result['peer'] * 1e3:.3f}"
        rows.append(f"| {name} | {threads} | {milliseconds} | {ratio:.2f} | {errors} | {result['compile']:.1f} |")
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", default=",".join(MODELS), help="which, with commas between them")
    arguments.add_argument("--threads", default="1,2", help="numbers of threads, with commas between them")
    arguments.add_argument("--runs", type=int, default=48, help="timed runs of each model")
    arguments.add_argument("--keep", type=Path, help="a folder to leave the models in, and to find them in")
    arguments.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        function, text = options.child
        print(json.dumps(globals()[function](**json.loads(text)) or {}))
        return
    if "STEPWELL_TORCH" not in os.environ:
        sys.exit(
            "STEPWELL_TORCH is not set: a Python with torch, transformers and onnxscript, which exports the models"
        )
    os.environ.setdefault("STEPWELL_CACHE", "off")  # of the processes that compile
    print(f"{machine()}\n\n{describe_package('stepwell')}, {describe_package('onnxruntime')}\n")
    print("| model | threads | ms | onnxruntime | ratio | error | error to torch | compile s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    ratios: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.models.split(","):
            print("\n".join(_rows(name, (options.keep or Path(scratch)) / name, options, ratios)), flush=True)
    for threads, found in ratios.items():
        mean = statistics.geometric_mean(found)
        print(f"\n--threads {threads}: {len(found)} models, least ratio {min(found):.2f}, geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
