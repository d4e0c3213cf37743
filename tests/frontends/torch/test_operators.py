"""Imported operators compute the results of PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stepwell.frontends.torch import IMPORTERS  # noqa: E402
from stepwell.tools.testing.torch_samples import Sample, samples  # noqa: E402

SAMPLES = list(samples())
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}


def test_every_importer_has_a_sample() -> None:
    assert {f"aten.{sample.operator}" for sample in SAMPLES} == set(IMPORTERS)


@pytest.mark.filterwarnings("ignore")  # of numpy, about NaN and infinity
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.operator)
def test_an_operator_computes_the_results_of_torch(sample: Sample) -> None:
    for actual, expected in zip(sample.actual, sample.expected, strict=True):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        tolerance = TOLERANCES.get(str(expected.dtype), 0)
        wide = [each.astype("float64") for each in (actual, expected)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
