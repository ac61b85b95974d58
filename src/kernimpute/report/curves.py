"""A curve over the rounds of a solver, as inline SVG."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

__all__ = ["curve"]

_WIDTH, _HEIGHT, _MARGIN = 640, 90, 8


def curve(values: NDArray[np.float64], title: str, *, logarithmic: bool = False) -> str:
    """Return a curve with its first and last value written at its ends.

    Parameters
    ----------
    values : ndarray of shape (n_rounds,)
        The values; NaN where there is none.
    title : str
        What the curve shows.
    logarithmic : bool, default=False
        Whether to draw orders of magnitude, if all values are positive.

    Returns
    -------
    str
        A figure; empty if fewer than two values are known.
    """
    known = np.flatnonzero(np.isfinite(values))
    if known.size < 2:
        return ""
    heights = values[known]
    if logarithmic and (heights > 0).all():
        heights = np.log10(heights)
        title += " (logarithmic)"
    span = heights.max() - heights.min()
    scaled = (heights - heights.min()) / span if span > 0 else np.full(heights.shape, 0.5)
    x = _MARGIN + (known - known[0]) / (known[-1] - known[0]) * (_WIDTH - 2 * _MARGIN)
    y = _MARGIN + (1.0 - scaled) * (_HEIGHT - 2 * _MARGIN)
    points = " L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    first, last = values[known[0]], values[known[-1]]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 18}" width="{_WIDTH}" role="img" '
        f'aria-label="{escape(title)}"><path d="M{points}"></path>'
        f'<text x="{_MARGIN}" y="{_HEIGHT + 12}">{escape(title)}: from {first:.6g}</text>'
        f'<text x="{_WIDTH - _MARGIN}" y="{_HEIGHT + 12}" text-anchor="end">to {last:.6g}</text>'
        "</svg>"
    )
