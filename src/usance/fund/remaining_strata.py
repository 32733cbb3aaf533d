"""Strata of what a live deal still holds: its loans at the age they have in it, and what defaulted.

A loan takes the curves of the deal's file from the month it came: those of the pool at the closing,
those of purchases on a payment date. Of what defaulted before, recoveries come yet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from usance.base.dates import to_day
from usance.fund.deal import PoolTerms
from usance.fund.errors import PoolError
from usance.fund.held_deal import HeldDeal
from usance.fund.pool_columns import PoolColumns
from usance.fund.projection import Stratum, cohort_stratum, cohort_terms
from usance.fund.state import Cohort
from usance.fund.strata import Curves, strata_of_pool


def remaining_strata(held: HeldDeal, pool: PoolColumns | None) -> list[Stratum]:
    """Strata of a deal from the month it is in, on the loans that perform.

    Without its loans, each cohort is a stratum, so far along its own schedule.
    """
    found: list[Stratum] = []
    for cohort in held.cohorts:
        terms = cohort_terms(held.deal, cohort)
        if terms is None:
            fix = "Give the terms of its loans"
            raise PoolError("its pool has flows", where=held.deal.name, fix=fix)
        if pool is None:
            found.append(cohort_stratum(terms, cohort))
        else:
            found += _on_loans(held, cohort, terms, pool)
    return found


def _on_loans(held: HeldDeal, cohort: Cohort, terms: PoolTerms, pool: PoolColumns) -> list[Stratum]:
    """Strata of the loans of a cohort; the first of them has what defaulted before."""
    came = held.pool.loan_id[held.pool.from_on == to_day(cohort.came_on)]
    mine = np.isin(pool["loan_id"], came) & (pool["principal_minor"] > 0)
    gone = cohort_stratum(terms, replace(cohort, balance_minor=0))
    if not mine.any():
        return [gone]
    loans = pool.take(np.flatnonzero(mine))
    none = np.zeros(len(loans), np.int64)
    same = {"grade": none, "dpd": none, "instalments_paid": none,
            "months_left": np.maximum(loans["months_left"], 1)}  # fmt: skip
    # The curves of a file begin with the first month, those that are measured with age 0.
    curves = Curves({}, {}, gone.recovery_ppm).with_segment(
        0, mdr_ppm=(0, *terms.mdr_ppm), smm_ppm=(0, *terms.smm_ppm)
    )
    made = strata_of_pool(PoolColumns({**loans.values, **same}, loans.deal), curves, held.until)
    first, *others = (replace(each, lived=cohort.months) for each in made)
    return [replace(first, defaulted=gone.defaulted), *others]
