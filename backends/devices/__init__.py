"""Devices, arrays in their memory, streams and events, and times."""

from .device import Device, Event, Stream, cpu, cuda, cuda_emulated, device
from .timing import BenchmarkResult

__all__ = ["BenchmarkResult", "Device", "Event", "Stream", "cpu", "cuda", "cuda_emulated", "device"]
