"""Losses, optimizers, and the functions that programs are trained with: `tvm.relax.training`."""

from __future__ import annotations

from ...absent import report_absent
from . import loss, optimizer, trainer, utils
from .setup_trainer import SetupTrainer
from .trainer import Trainer
from .utils import AppendLoss

__getattr__ = report_absent("tvm.relax.training")

__all__ = ["AppendLoss", "SetupTrainer", "Trainer", "loss", "optimizer", "trainer", "utils"]
