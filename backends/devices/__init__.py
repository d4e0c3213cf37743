"""Devices, arrays in device memory, streams, events, and timing."""

from .device import Device, Event, Stream, cpu, cuda, cuda_emulated, device
from .timing import BenchmarkResult

__all__ = ["BenchmarkResult", "Device", "Event", "Stream", "cpu", "cuda", "cuda_emulated", "device"]
