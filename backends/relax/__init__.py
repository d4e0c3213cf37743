"""Programs of `relax`: native code for their graphs and kernels, and the virtual machine that calls it."""

from . import host_boxes as host_boxes
from . import host_decoding as host_decoding  # registers them
from . import host_functions as host_functions
from . import host_images as host_images
from . import host_objects as host_objects
from . import host_sampling as host_sampling
from . import host_tvm as host_tvm
from .build import build_relax
from .executable import VMExecutable
from .machine import VirtualMachine

__all__ = ["VMExecutable", "VirtualMachine", "build_relax"]
