"""Exposures at a close, by IFRS 9 stage, segment and vintage.

>>> from usance.base.codes import FundingModel
>>> at_risk = np.zeros((3, 1, 2), np.int64)
>>> at_risk[0, 0] = 500, 900
>>> exposures = Exposures(np.array([FundingModel.CAPITAL_HEAVY]), at_risk)
>>> int(exposures.minor.sum()), exposures.claim(0).label
(1400, 'payout')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import FundingModel
from usance.base.dates import format_month
from usance.base.errors import UsanceError, raise_all
from usance.books.losses.assumptions import Claim
from usance.books.losses.errors import ExposureError
from usance.books.losses.stages import STAGES
from usance.measure.triangles import Triangle


@dataclass(frozen=True, slots=True, eq=False)
class Exposures:
    """Amounts [stage, segment, cohort] in the order of a triangle, and each segment's model.

    Of a guaranteed loan the unpaid principal until its payout, of an own loan its amortised cost
    until its charge-off, of a loan without guarantee the unpaid principal that fees hang on.
    """

    models: NDArray[Any]
    minor: NDArray[np.int64]

    def claim(self, segment: int) -> Claim:
        """The event of default of a segment (by its position)."""
        heavy = self.models[segment] == FundingModel.CAPITAL_HEAVY
        return Claim.PAYOUT if heavy else Claim.CHARGE_OFF

    def check(self, triangle: Triangle) -> None:
        """Raise every exposure that does not fit the triangle."""
        wanted = (STAGES, len(triangle.segments), len(triangle.cohorts))
        if self.minor.shape != wanted or len(self.models) != wanted[1]:
            what = f"exposures are {self.minor.shape} and models {len(self.models)}"
            fix = f"Give [stage, segment, cohort] = {wanted} and a model for each segment"
            raise ExposureError(what, where="exposures", fix=fix)
        at_end = np.take_along_axis(
            triangle.originated_minor, triangle.limits[None, :, None].astype(np.intp), 2
        )[..., 0]
        problems: list[UsanceError] = []
        for stage, segment, cohort in np.argwhere(self.minor < 0):
            what = f"an exposure of {self.minor[stage, segment, cohort]} in stage {stage + 1}"
            where = pool_name(triangle, segment, cohort)
            problems.append(ExposureError(what, where=where, fix="Give 0 or more"))
        for segment, cohort in np.argwhere((self.minor.sum(0) > 0) & (at_end <= 0)):
            where = pool_name(triangle, segment, cohort)
            what = "there is exposure, and nothing was originated"
            fix = "Make the triangle and the exposures from the same loans"
            problems.append(ExposureError(what, where=where, fix=fix))
        raise_all(problems, where="exposures")


def pool_name(triangle: Triangle, segment: int, cohort: int) -> str:
    """A pool by its segment and its month, for a message."""
    month = format_month(int(triangle.cohorts[cohort]))
    return f"segment {triangle.segments[segment]}, vintage {month}"
