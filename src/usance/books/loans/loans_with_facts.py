"""Terms of loans with their visible facts, loan by loan, as a close carries them forward.

Facts lie in many files, month by month. A close keeps those of open loans as it has put
them together; the next one begins with them and reads only the files that came since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.array_bytes import pack, unpack
from usance.base.arrays import I64, Bools
from usance.base.columns import ARROW, arrays, conform
from usance.base.tables import table
from usance.loan.fact_files import FactsByLoan
from usance.loan.kernel.fact_files import FactRows

LOANS = table("loans")
TERMS = (
    "loan_id", "terms_no", "product", "convention", "model", "source", "disbursed_on",
    "first_due_on", "instalments", "principal_minor", "rate_ppm", "coupon_ppm",
    "guarantee_fee_minor", "eir_ppb", "flat_fee_minor", "upfront_fee_minor",
)  # fmt: skip
"""Columns of terms that a close reads."""
_IDS, _COUNTS, _TERM = "ids", "counts", "terms."


@dataclass(frozen=True, slots=True)
class LoansWithFacts:
    """Some loans, rising, with their terms and with all facts that were known."""

    ids: I64
    terms: pa.Table
    """In order; a loan whose terms have changed has several rows."""
    facts: FactsByLoan

    def of(self, rows: Bools) -> LoansWithFacts:
        """Some of the loans."""
        if rows.all():
            return self
        own = rows
        if self.terms.num_rows > len(self.ids):
            owner = arrays(self.terms.select(["loan_id"]))["loan_id"]
            own = rows[np.searchsorted(self.ids, owner)]
        return LoansWithFacts(
            self.ids[rows], self.terms.filter(pa.array(own)), self.facts.select(rows)
        )

    def to_bytes(self) -> bytes:
        """To be kept for the next close."""
        terms = {f"{_TERM}{name}": values for name, values in arrays(self.terms).items()}
        facts: Mapping[str, NDArray[Any]] = self.facts.facts._asdict()
        return pack({_IDS: self.ids, _COUNTS: np.diff(self.facts.offsets), **facts, **terms})

    @classmethod
    def of_bytes(cls, content: bytes) -> LoansWithFacts:
        """Loans that were kept."""
        held = unpack(content)
        rows = FactRows(**{name: held[name] for name in FactRows._fields})
        facts = FactsByLoan(np.append(0, np.cumsum(held[_COUNTS])), rows)
        columns = {name: _column(name, held[f"{_TERM}{name}"]) for name in TERMS}
        terms = conform(columns, LOANS, rows=len(columns["loan_id"]), where=LOANS.name, only=TERMS)
        return cls(held[_IDS], terms, facts)


def _column(name: str, values: NDArray[Any]) -> pa.Array:
    return pa.array(values).view(ARROW[LOANS.column(name).type])
