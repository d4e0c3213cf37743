"""The models of the suite, and example inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...frontends.torch.library import torch


@dataclass(frozen=True)
class Case:
    """A model. make: returns the module and its inputs by name."""

    package: str
    name: str
    make: Callable[[], tuple[Any, dict[str, Any]]]

    @property
    def title(self) -> str:
        """The name with its package."""
        return f"{self.package} {self.name}"


_LEAST_PARAMETER = 1e-3
"""The greatest element that a parameter has at least."""


def _set_parameters(model: Any) -> None:
    """Draws parameters that are initially zero or nearly zero (biases, last layers, scales of residuals), without which
    layers would have no effect on the outputs."""
    with torch.no_grad():
        for parameter in model.parameters():
            if float(parameter.abs().max()) < _LEAST_PARAMETER:
                parameter.normal_(std=0.1)


def cases() -> Iterator[Case]:
    """All models of the suite."""
    yield from _torchvision_cases()
    yield from _transformers_cases()


# torchvision

_EXTENTS = {"inception": 160, "maxvit": 224, "vit_h": 28, "vit": 32}
"""The extent of an image by the first prefix of a model's name, which the model accepts; 64 for other models."""


def _torchvision_cases() -> Iterator[Case]:
    models: Any = import_module("torchvision.models")
    for name in models.list_models(module=models):
        yield Case("torchvision", name, lambda name=name: _torchvision_model(models, name))


def _torchvision_model(models: Any, name: str) -> tuple[Any, dict[str, Any]]:
    extent = next((size for prefix, size in _EXTENTS.items() if name.startswith(prefix)), 64)
    options: dict[str, Any] = {"image_size": extent} if name.startswith("vit") else {}
    if name.startswith(("googlenet", "inception")):
        options["init_weights"] = False
    model = models.get_model(name, weights=None, **options).eval()
    _set_parameters(model)
    _set_statistics(model, torch.randn(16, 3, extent, extent))
    return model, {"x": torch.randn(1, 3, extent, extent)}


def _set_statistics(model: Any, images: Any) -> None:
    """Sets the statistics of batch normalizations to those of images. With the initial statistics the activations of
    deep models with random weights vanish, and any result would do."""
    norms = [layer for layer in model.modules() if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)]  # pyright: ignore[reportPrivateUsage]
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    with torch.no_grad():
        model(images)
    model.eval()


# transformers

_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 99,
}
_IMAGE = {
    "hidden_size": 32,
    "image_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "patch_size": 8,
}
_GROUPED = {**_TEXT, "num_key_value_heads": 2, "use_cache": False}
_TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_WHISPER = {
    "d_model": 32,
    "decoder_attention_heads": 4,
    "decoder_ffn_dim": 64,
    "decoder_layers": 2,
    "decoder_start_token_id": 1,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "encoder_layers": 2,
    "max_source_positions": 20,
    "num_mel_bins": 8,
    "vocab_size": 99,
    **_TOKENS,
}
_WAV = {"conv_dim": (16, 16, 16), "conv_kernel": (10, 3, 3), "conv_stride": (5, 2, 2), "num_conv_pos_embeddings": 16}

_MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "ALBERT": ("AlbertModel", {**_TEXT, "embedding_size": 16}, "tokens"),
    "BERT": ("BertModel", _TEXT, "masked tokens"),
    "CLIP, image": ("CLIPVisionModel", _IMAGE, "image"),
    "CLIP, text": ("CLIPTextModel", {**_TEXT, **_TOKENS, "max_position_embeddings": 16}, "tokens"),
    "ConvNeXt": ("ConvNextModel", {"depths": [1] * 4, "hidden_sizes": [8, 16, 24, 32]}, "image"),
    "DeiT": ("DeiTModel", _IMAGE, "image"),
    "DistilBERT": (
        "DistilBertModel",
        {"dim": 32, "hidden_dim": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 99},
        "tokens",
    ),
    "ELECTRA": ("ElectraModel", {**_TEXT, "embedding_size": 16}, "tokens"),
    "GPT-2": (
        "GPT2LMHeadModel",
        {"n_embd": 32, "n_head": 4, "n_layer": 2, "use_cache": False, "vocab_size": 99, **_TOKENS},
        "tokens",
    ),
    "Llama": ("LlamaForCausalLM", _GROUPED, "tokens"),
    "Mistral": ("MistralForCausalLM", _GROUPED, "tokens"),
    "Qwen2": ("Qwen2ForCausalLM", _GROUPED, "tokens"),
    "RoBERTa": ("RobertaModel", {**_TEXT, **_TOKENS}, "tokens"),
    "Swin": (
        "SwinModel",
        {"depths": [1, 1], "embed_dim": 16, "image_size": 32, "num_heads": [2, 2], "window_size": 4},
        "image",
    ),
    "T5, encoder": (
        "T5EncoderModel",
        {"d_ff": 64, "d_kv": 8, "d_model": 32, "num_heads": 4, "num_layers": 2, "vocab_size": 99},
        "tokens",
    ),
    "ViT": ("ViTModel", _IMAGE, "image"),
    "Wav2Vec2": ("Wav2Vec2Model", {**_TEXT, **_WAV, "num_conv_pos_embedding_groups": 4}, "sound"),
    "Whisper, encoder": ("WhisperModel", _WHISPER, "spectrum"),
}
"""The class of each architecture, its configuration, and the kind of its input."""


def _transformers_cases() -> Iterator[Case]:
    package: Any = import_module("transformers")
    for name, (kind, configuration, inputs) in _MODELS.items():
        yield Case("transformers", name, lambda a=(kind, configuration, inputs): _transformers_model(package, *a))


def _transformers_model(
    package: Any, kind: str, configuration: dict[str, Any], inputs: str
) -> tuple[Any, dict[str, Any]]:
    model: Any = getattr(package, kind)
    model = model(model.config_class(**configuration)).eval()
    _set_parameters(model)
    return (model.get_encoder() if kind == "WhisperModel" else model), _inputs(inputs)


def _inputs(kind: str) -> dict[str, Any]:
    match kind:
        case "tokens":
            return {"input_ids": torch.randint(3, 99, (2, 7))}
        case "masked tokens":
            return {**_inputs("tokens"), "attention_mask": torch.tensor([[1] * 7, [1] * 4 + [0] * 3])}
        case "image":
            return {"pixel_values": torch.randn(1, 3, 32, 32)}
        case "sound":
            return {"input_values": torch.randn(1, 800)}
        case _:
            return {"input_features": torch.randn(1, 8, 40)}
