"""The module `tvm.error`: the errors of TVM that programs catch, as errors of Stepwell."""

from __future__ import annotations

from ...core.errors import DeviceError, OptionError, StepwellError, UnsupportedError
from .absent import report_absent

__getattr__ = report_absent("tvm.error")

TVMError = InternalError = DiagnosticError = OpError = StepwellError
OpNotImplemented = OpAttributeUnImplemented = UnsupportedError
OpAttributeRequired = OpAttributeInvalid = OptionError
RPCError = DeviceError

__all__ = [
    "DiagnosticError",
    "InternalError",
    "OpAttributeInvalid",
    "OpAttributeRequired",
    "OpAttributeUnImplemented",
    "OpError",
    "OpNotImplemented",
    "RPCError",
    "TVMError",
]
