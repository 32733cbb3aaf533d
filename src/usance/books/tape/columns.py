"""The columns of a tape that someone brings for `usance books run`: names, meanings, defaults.

A row is a loan at a month end. An amount is given in whole minor units under its name with
`_minor`, or in major units under its name alone.

>>> COLUMNS["dpd"].doc, COLUMNS["paid_principal"].names
('days past due', ('paid_principal_minor', 'paid_principal'))
>>> [column.name for column in COLUMNS.values() if column.is_needed]
['month', 'model', 'product', 'originated', 'principal', 'dpd', 'status']
"""

from __future__ import annotations

from dataclasses import dataclass

NOT_GIVEN = -1
"""An empty cell of a number; nothing on a tape is below zero."""


@dataclass(frozen=True, slots=True)
class TapeColumn:
    """One column: its name, how its cells are read, what stands for an empty one, its meaning."""

    name: str
    kind: str
    default: str
    doc: str

    @property
    def is_needed(self) -> bool:
        """True if a tape must have it."""
        return self.default == "needed"

    @property
    def is_cumulative(self) -> bool:
        """True if it never falls from one month end of a loan to the next."""
        return self.kind == "total"

    @property
    def is_money(self) -> bool:
        """True of an amount."""
        return self.kind in ("money", "total")

    @property
    def line(self) -> str:
        """Its line in the reference."""
        default = "refused" if self.is_needed else DEFAULTS.get(self.default, self.default)
        name = f"`{self.names[0]}`" + (", total" if self.is_cumulative else "")
        return f"| {name} | {self.doc} | {default} |"

    @property
    def names(self) -> tuple[str, ...]:
        """Its names in a file, of today and of before."""
        names = [self.name, *(old for old, new in FORMER_NAMES.items() if new == self.name)]
        return tuple(f"{name}{unit}" for name in names for unit in self._units)

    @property
    def _units(self) -> tuple[str, ...]:
        return ("_minor", "") if self.is_money else ("",)


FORMER_NAMES = {
    "earned_slices": "earned_fee_instalments",
    "later_principal": "non_current_principal",
    "later_guarantee": "non_current_guarantee",
    "later_service": "non_current_service",
}
"""Names of columns in files made before they were renamed; a file has the one or the other."""
DEFAULTS = {
    "loan_ref": "numbered by loan_ref",
    "loan_id": "none",
    "by_kind": "by model, product and source",
    "disbursed_on": "the month of disbursed_on",
    "end_of_cohort": "the last day of cohort",
    "closed": "1 where status is closed",
    "originated_less_rest": "originated less unpaid and forgiven",
    "by_date": "from disbursed_on to the last day with at most 60 days past due",
    "by_days": "the fee by days of the term",
    "paid_and_waived": "what was received or forgiven: interest on a cash basis",
    "due_fees": "both fees as they fall due",
    "by_terms_or_days": "by effective interest with terms, else by days of the term",
    "earned_fee": "earned_fee: no adjustment",
    "no_terms": "no effective interest",
    "solved": "solved from the terms",
    "unpaid_then": "what is unpaid when status becomes charged_off",
    "paid_afterwards": "what the totals received rise by after it",
    "month_end": "the last day of the first month that shows it",
    "paid_that_month": "received by the end of the first month that shows it",
    "paid": "all of it",
    "overpaid": "all of it",
    "by_days_left": "by days of the term beyond a year",
}
"""Defaults of empty cells, in words; other defaults stand for themselves."""

_WRITTEN = """
month             month    needed                month end the row tells of: 2024-06, or months since 1970
loan_id           id       loan_ref              number of the loan
loan_ref          text     loan_id               name of the loan in your system; numbered by first row
model             model    needed                who bears the risk
product           product  needed                what the borrower took
source            small    1                     number of who funds it
cell              small    by_kind               row of cells.csv, instead of model, product and source
cohort            month    disbursed_on          month of origination
disbursed_on      day      end_of_cohort         day of origination
originated        money    needed                principal at origination
principal         money    needed                unpaid principal, whatever the books have done
dpd               whole    needed                days past due
status            status   needed                where the loan stands
settled           flag     closed                1 once nothing more is owed but late fees
paid_principal    total    originated_less_rest  principal received to date
paid_interest     total    0                     interest received to date (the funder's, if not ours)
paid_guarantee    total    0                     guarantee fees received to date
paid_service      total    0                     service fees received to date
paid_penalty      total    0                     late fees received to date
overpaid          money    0                     money of the borrower that met nothing
waived_principal  total    0                     principal forgiven to date
waived_interest   total    0                     interest forgiven to date
waived_guarantee  total    0                     guarantee fees forgiven to date
waived_service    total    0                     service fees forgiven to date
term_days         whole    0                     days from origination to the last instalment
elapsed_days      whole    by_date               days of them earned so far
guarantee_fee     money    0                     guarantee fees of the whole plan, tax in
service_fee       money    0                     service fees of the whole plan, tax in
due_guarantee     money    by_days               of the guarantee fees, fallen due
due_service       money    by_days               of the service fees, fallen due by the last day that earns
earned_interest   money    paid_and_waived       interest of our own loans earned to date
earned_fee_instalments     money    due_fees              fees by instalment of our own loans earned to date
upfront_fee       money    0                     fee withheld at origination
earned_fee        money    by_terms_or_days      of the upfront fee, earned to date
earned_fee_ifrs   money    earned_fee            the same by the flows IFRS expects
rate_ppm          whole    no_terms              agreed rate a year, for effective interest
instalments       small    no_terms              how many there are
first_due_on      day      no_terms              day of the first one
convention        small    no_terms              number of the platform's own convention
eir_ppb           whole    solved                effective rate a month
fee_ppm           whole    0                     of volume, what an institution pays us for the loan
compensated       total    0                     paid to the institution under the guarantee, to date
charged_off       total    unpaid_then           charged off to date
recovered         money    paid_afterwards       received this month after a payout or charge-off
event_on          day      month_end             day of the payout or charge-off
event_cleared     flag     1                     1 once the cash from before it has been handed over
before_principal  money    paid_that_month       principal received before a payout or charge-off
before_interest   money    paid_that_month       interest, likewise
before_guarantee  money    paid_that_month       guarantee fees, likewise
before_service    money    paid_that_month       service fees, likewise
before_penalty    money    paid_that_month       late fees, likewise
cleared_principal money    paid                  of the principal received, handed over by the providers
cleared_interest  money    paid                  of the interest, likewise
cleared_guarantee money    paid                  of the guarantee fees, likewise
cleared_service   money    paid                  of the service fees, likewise
cleared_penalty   money    paid                  of the late fees, likewise
cleared_overpaid  money    overpaid              of the over-payments, likewise
non_current_principal   money    by_days_left          unpaid principal due more than a year from now
non_current_guarantee   money    by_days_left          guarantee fees due more than a year from now
non_current_service     money    by_days_left          service fees due more than a year from now
past_due          money    0                     due and unpaid
prepaid           money    0                     principal paid this month before it was due
"""  # noqa: E501

COLUMNS: dict[str, TapeColumn] = {
    words[0]: TapeColumn(words[0], words[1], words[2], " ".join(words[3:]))
    for words in map(str.split, _WRITTEN.strip().splitlines())
}

TERMS = ("rate_ppm", "instalments", "first_due_on", "convention")
"""With all of them, an upfront fee is earned by effective interest."""
CONSTANT = ("model", "product", "source", "cohort", "disbursed_on", "originated", "upfront_fee")
"""Columns that a loan keeps for life."""
