"""Rotations of queries and keys."""

import numpy as np

from stepwell.decoding import Rotary


def test_pairs_rotate_by_their_position() -> None:
    heads = np.random.default_rng(0).standard_normal((3, 2, 6)).astype("float32")
    positions = np.array([0, 1, 7], "int32")
    found = Rotary(theta=10.0, scale=0.5, size=4).rotated(heads, positions)
    for d, angle in enumerate(0.5 * positions[:, None] * np.array([1, 10**-0.5])[None, :].T[d] for d in range(2)):
        turned = (heads[..., d] + 1j * heads[..., d + 2]) * np.exp(1j * angle.reshape(3, 1))
        np.testing.assert_allclose(found[..., d], turned.real, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[..., d + 2], turned.imag, rtol=1e-5, atol=1e-6)
    assert (found[..., 4:] == heads[..., 4:]).all()
    assert (found[0] == heads[0]).all()
    half = Rotary().rotated(heads.astype("float16"), positions)
    assert half.dtype == np.float16
