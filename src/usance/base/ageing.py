"""Ageing buckets of 30 days past due: 0 current, 1 to 6 up to 180 days, 7 beyond or charged off.

>>> import numpy as np
>>> ageing_buckets(np.array([0, 1, 30, 31, 180, 181])).tolist()
[0, 1, 1, 2, 6, 7]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.codes import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKET_DAYS = 30
LAST_BUCKET = 7


def ageing_buckets(days_past_due: NDArray[Any], status: NDArray[Any] | None = None) -> NDArray[Any]:
    """The bucket of each loan; charged-off loans are in the last one."""
    import numpy as np

    by_days = np.minimum((days_past_due + BUCKET_DAYS - 1) // BUCKET_DAYS, LAST_BUCKET)
    return (
        by_days if status is None else np.where(status == Status.CHARGED_OFF, LAST_BUCKET, by_days)
    )
