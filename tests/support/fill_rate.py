"""How well batches are filled with tokens."""

import numpy as np
from numpy.typing import NDArray

from nmt.data.batching import Batches


def fill_rate(lengths: tuple[NDArray[np.int32], NDArray[np.int32]], batches: Batches) -> float:
    """Share of the padded batches' cells, both sides together, that hold a token."""
    ended = [side[indices] + 1 for indices in batches for side in lengths]
    return sum(int(x.sum()) for x in ended) / sum(int(x.max()) * len(x) for x in ended)
