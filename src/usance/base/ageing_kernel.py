"""The ageing bucket of one loan, for kernels; apart from `ageing`, which needs no compiler."""

from __future__ import annotations

from usance.base.ageing import BUCKET_DAYS, LAST_BUCKET
from usance.base.compiled import kernel


@kernel(inline=True)
def ageing_bucket(days_past_due: int) -> int:
    """The bucket of a loan by its days past due."""
    return min((days_past_due + BUCKET_DAYS - 1) // BUCKET_DAYS, LAST_BUCKET)
