"""Operators on regions of images: `relay.vision`."""

from __future__ import annotations

from .operators import operator_function

deformable_patches = operator_function("vision.deformable_patches")
roi_align = operator_function("vision.roi_align")
roi_pool = operator_function("vision.roi_pool")
