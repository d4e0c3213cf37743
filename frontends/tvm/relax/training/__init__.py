"""Losses, optimizers, and the functions that programs are trained with: `tvm.relax.training`."""

from __future__ import annotations

from ...absent import report_absent
from . import loss, optimizer, trainer, utils
from .optimizer import SGD, Adam, MomentumSGD, Optimizer
from .setup_trainer import SetupTrainer
from .trainer import Trainer
from .utils import AppendLoss

__getattr__ = report_absent("tvm.relax.training")

__all__ = [
    "SGD", "Adam", "AppendLoss", "MomentumSGD", "Optimizer", "SetupTrainer", "Trainer", "loss", "optimizer", "trainer",
    "utils",
]  # fmt: skip
