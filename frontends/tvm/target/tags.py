"""Targets by tag: `Target("nvidia/nvidia-a100")`. The names and architectures are those of TVM v0.16."""

from __future__ import annotations

from typing import Any

_ARCHITECTURES = {
    "sm_50": "quadro-k2200 quadro-k1200 quadro-k620 quadro-m1200 geforce-gtx-750-ti geforce-gtx-750 geforce-gtx-960m "
    "geforce-gtx-950m geforce-940m geforce-930m geforce-gtx-850m geforce-840m geforce-830m",
    "sm_52": "tesla-m60 tesla-m40 quadro-m6000-24gb quadro-m6000 quadro-m5000 quadro-m4000 quadro-m2000 "
    "geforce-gtx-titan-x geforce-gtx-980-ti geforce-gtx-980 geforce-gtx-970 geforce-gtx-960 geforce-gtx-950 "
    "geforce-gtx-980m geforce-gtx-970m geforce-gtx-965m",
    "sm_53": "jetson-tx1 jetson-nano",
    "sm_60": "tesla-p100 quadro-gp100",
    "sm_61": "tesla-p40 tesla-p4 quadro-p6000 quadro-p5000 quadro-p4000 quadro-p2200 quadro-p2000 quadro-p1000 "
    "quadro-p620 quadro-p600 quadro-p400 nvidia-titan-xp nvidia-titan-x geforce-gtx-1080-ti geforce-gtx-1080 "
    "geforce-gtx-1070-ti geforce-gtx-1070 geforce-gtx-1060 geforce-gtx-1050",
    "sm_62": "jetson-tx2",
    "sm_70": "nvidia-v100 quadro-gv100 nvidia-titan-v",
    "sm_72": "jetson-agx-xavier",
    "sm_75": "nvidia-t4 quadro-rtx-8000 quadro-rtx-6000 quadro-rtx-5000 quadro-rtx-4000 rtx-5000 rtx-4000 rtx-3000 "
    "t2000 t1000 nvidia-titan-rtx geforce-rtx-2080-ti geforce-rtx-2080 geforce-rtx-2070 geforce-rtx-2060",
    "sm_80": "nvidia-a100 nvidia-a30",
    "sm_86": "nvidia-a40 nvidia-a10 nvidia-a10g nvidia-a16 nvidia-a2 rtx-a6000 geforce-rtx-3090-ti geforce-rtx-3090 "
    "geforce-rtx-3080-ti geforce-rtx-3080 geforce-rtx-3070-ti geforce-rtx-3070 geforce-rtx-3060",
    "sm_87": "jetson-orin-nano jetson-agx-orin-32gb jetson-agx-orin-64gb",
    "sm_89": "geforce-rtx-4090",
    "sm_90": "nvidia-h100",
}
"""GPUs of NVIDIA by architecture, without the prefix `nvidia/` of their tags."""
_FEW_REGISTERS = ("sm_53", "sm_62")
"""The architectures with 32768 registers for a block of threads, not 65536."""
_C5 = {
    "large": 1,
    "xlarge": 2,
    "2xlarge": 4,
    "4xlarge": 8,
    "9xlarge": 18,
    "12xlarge": 24,
    "18xlarge": 36,
    "24xlarge": 48,
}
"""The cores of the machines `aws/cpu/c5.NAME`."""
_CASCADELAKE = ("12xlarge", "24xlarge")


def _tags() -> dict[str, dict[str, Any]]:
    tags: dict[str, dict[str, Any]] = {
        f"nvidia/{name}": {
            "kind": "cuda", "arch": arch, "max_shared_memory_per_block": 49152, "max_threads_per_block": 1024,
            "registers_per_block": 32768 if arch in _FEW_REGISTERS else 65536, "shared_memory_per_block": 49152,
            "thread_warp_size": 32,
        }
        for arch, names in _ARCHITECTURES.items()
        for name in names.split()
    }  # fmt: skip
    for name, cores in _C5.items():
        mcpu = "cascadelake" if name in _CASCADELAKE else "skylake-avx512"
        tags[f"aws/cpu/c5.{name}"] = {"kind": "llvm", "mcpu": mcpu, "num-cores": cores, "keys": ["x86", "cpu"]}
    for name, threads in (("m1-gpu", 1024), ("m1-gpu-restricted", 256), ("m2-gpu", 1024)):
        tags[f"apple/{name}"] = {
            "kind": "metal", "max_threads_per_block": threads, "max_shared_memory_per_block": 32768,
            "thread_warp_size": 32,
        }  # fmt: skip
    tags["raspberry-pi/4b-aarch64"] = {
        "kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "mattr": ["+neon"], "num-cores": 4,
        "keys": ["arm_cpu", "cpu"],
    }  # fmt: skip
    return tags


TAGS = _tags()
"""The configuration of each tag."""


def list_tags() -> dict[str, dict[str, Any]]:
    """The configurations by tag."""
    return dict(TAGS)
