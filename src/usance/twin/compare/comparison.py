"""A run beside published figures: each metric and line of its statements, with the relative error.

The run's own figures are those of its releases, made from its closed books; amounts and counts are
divided by the scale of the run before they are compared, rates and means are not. A rate that takes
some days to be known is taken over what has had those days.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from usance.base.book import Book
from usance.base.dates import to_month
from usance.base.errors import InputError
from usance.base.periods import MetricPeriod, quarter_label
from usance.books.close.closes import CloseRef, effective_closes
from usance.books.periods import parse_close_period
from usance.disclose.fact_table_file import read_facts
from usance.disclose.facts import MONEY, NO_CURRENCY, UNITS, Fact
from usance.disclose.periods import Period
from usance.disclose.profile import Profile, load_profile
from usance.disclose.release.business_highlights import INCOMPLETE, load_highlights
from usance.disclose.release.filer import Filer
from usance.disclose.release.publication import release_of
from usance.disclose.release.release import Release
from usance.measure.definitions import load_definitions
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure
from usance.twin.compare.tolerances import ComparisonRules, Tolerance, load_rules

STATEMENTS = (
    "business_highlights", "management_quote", "balance_sheet", "operations",
    "comprehensive_income", "cash_flows", "non_gaap_reconciliation", "ifrs_reconciliation",
)  # fmt: skip
"""The beginnings of the names of statements that are compared."""
_HOLDERS = re.compile(r"(?<=shareholders of ).+?(?= -basic| -diluted|$)", re.IGNORECASE)
_EQUITY = re.compile(r"^TOTAL (?!.*LIABILITIES).+ EQUITY$")
"""Lines that have the name of their company."""
SCALED = frozenset({*MONEY, "shares", "ads", "persons", "million_persons", "count"})
"""Units of figures that grow with the size of a run."""

Key = tuple[str, str, str, str]
"""Statement, line, parent line, period."""
NOT_TOLD = "without a counterpart"


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure: what was published, and what the run says at full size."""

    document: str
    statement: str
    line: str
    parent: str
    period: str
    unit: str
    published: Fraction
    found: Fraction
    tolerance: Tolerance | None

    @property
    def error(self) -> Fraction | None:
        """The difference as a share of what was published."""
        return (self.found - self.published) / abs(self.published) if self.published else None

    @property
    def is_near(self) -> bool | None:
        """True if it lies within its tolerance, none where it has none."""
        return self.tolerance.allows(self.published, self.found) if self.tolerance else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; figures in base units of the published unit."""
        scale = UNITS[self.unit]
        return {
            "document": self.document, "statement": self.statement, "line": self.line,
            "parent_line": self.parent, "period": self.period, "unit": self.unit,
            "published": float(self.published / scale), "found": float(self.found / scale),
            "error": None if self.error is None else float(self.error),
            "tolerance": None if self.tolerance is None else str(self.tolerance),
            "within": self.is_near,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """Figures compared, and every other published figure by the reason it was not."""

    rows: list[Compared]
    left_out: Mapping[str, list[Fact]]


def compare_run(
    book: Book, facts: Sequence[Path], scale: Fraction, *, profile: Profile | None = None,
    rules: ComparisonRules | None = None,
) -> Comparison:  # fmt: skip
    """Every published figure that the run tells too, and which ones it does not."""
    if scale <= 0:
        raise InputError(f"a scale of {scale}", where="--scale", fix="Give one above zero")
    printing, known = profile or load_profile(), rules or load_rules()
    closes = effective_closes(book)
    left_out: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in read_facts(facts, printing):
        left_out[_reason(fact, closes, printing)].append(fact)
    published = left_out.pop("", [])
    own = _simulated(book, published, printing, known)
    left_out[NOT_TOLD] = [fact for fact in published if _key(fact, known) not in own]
    rows = list(_rows(published, own, scale, known))
    if not rows:
        reasons = [f"{len(some)} are {reason}" for reason, some in left_out.items() if some]
        what = f"no published figure has a counterpart: {', '.join(reasons) or 'there are none'}"
        fix = "Give figures of periods that the run has closed, in its currency"
        raise InputError(what, where=str(book.path), fix=fix)
    return Comparison([*rows, *_sums(rows, known)], left_out)


def _simulated(
    book: Book, published: Sequence[Fact], profile: Profile, rules: ComparisonRules
) -> dict[Key, Fraction]:
    """The run's figures for them: of the release of each document's last quarter, then others."""
    own: dict[Key, Fraction] = {}
    latest = sorted(set(_last_quarters(published).values()))
    for quarter in latest:
        own |= own_figures(book, quarter, profile)
    missing = [fact for fact in published if _key(fact, rules) not in own]
    for quarter in sorted({_quarter(fact) for fact in missing} - set(latest)):
        own = own_figures(book, quarter, profile) | own
    return own


def own_figures(book: Book, quarter: str, profile: Profile) -> dict[Key, Fraction]:
    """Figures of a run's release of a quarter; none if it was not run or is not closed."""
    period = parse_close_period(quarter)
    if not {period.months[0] - 1, period.last_month} <= {
        each.month for each in effective_closes(book)
    }:
        return {}
    exact = Filer(unit="unit", decimals=2, translated=False)
    release = release_of(book, period, profile, exact)
    return {
        (each.statement, _anyone(each.line.removesuffix(INCOMPLETE)), _anyone(each.parent),
         each.period): Fraction(each.text) * UNITS[each.unit]
        for each in release.figures
        if each.unit in UNITS and each.currency in (profile.reporting, NO_CURRENCY)
    } | dict(_ripe(book, release))  # fmt: skip


def _ripe(book: Book, release: Release) -> Iterator[tuple[Key, Fraction]]:
    """Rates of a release that can still change, over the days of their period that cannot."""
    known = max(each.day for each in effective_closes(book))
    for each in release.figures:
        line = each.line.removesuffix(INCOMPLETE)
        metric = next((one.metric for one in load_highlights() if one.line == line), "")
        if line == each.line or not metric:
            continue
        span = MetricPeriod.of(each.period)
        waits = timedelta(days=max(one.complete_after_days for one in load_definitions()[metric]))
        until = MetricPeriod(span.start, min(span.end, known - waits))
        for found in measure(Inputs.of_book(book), [metric], as_of=known, period=until):
            if not found.dimensions and found.denominator:
                share = 100 * Fraction(found.numerator, found.denominator)
                yield (each.statement, line, each.parent, each.period), share


def was_run(period: Period, opening: date) -> bool:
    """True if a run simulated a period: what led to its opening book was drawn.

    >>> from usance.disclose.periods import parse_period
    >>> eve = date(2022, 12, 31)
    >>> [was_run(parse_period(name), eve) for name in ("2022Q4", "2022-12-31", "2023Q1")]
    [False, True, True]
    """
    return period.instant or period.start > opening


def _reason(fact: Fact, closes: Sequence[CloseRef], profile: Profile) -> str:
    """Reason a published figure cannot be compared, if there is one."""
    if not fact.is_number:
        return "no numbers"
    if fact.currency not in (profile.reporting, NO_CURRENCY):
        return "of another currency"
    if not fact.statement.startswith(STATEMENTS):
        return "of other statements"
    if " - change vs " in fact.line:
        return "changes between figures"
    if not was_run(fact.period, min((each.day for each in closes), default=date.min)):
        return "of a time before the run"
    if parse_close_period(_quarter(fact)).last_month not in {each.month for each in closes}:
        return "of quarters the run has not closed"
    return ""


def _quarter(fact: Fact) -> str:
    """The quarter in which the period of a figure ends."""
    return quarter_label(to_month(fact.period.end))


def _last_quarters(facts: Iterable[Fact]) -> dict[str, str]:
    """By document its latest quarter, whose release tells most of the earlier ones too."""
    by_day = sorted(facts, key=lambda fact: fact.period.end)
    return {fact.document: _quarter(fact) for fact in by_day}


def _key(fact: Fact, rules: ComparisonRules) -> Key:
    statement = rules.printed_in.get(fact.line, fact.statement)
    return statement, _anyone(fact.line), _anyone(fact.parent), fact.period.name


def _anyone(line: str) -> str:
    """A line without the name of its company.

    >>> _anyone("TOTAL EXAMPLE HOLDING EQUITY"), _anyone("TOTAL EQUITY")
    ('TOTAL COMPANY EQUITY', 'TOTAL EQUITY')
    >>> _anyone("Net income attributable to shareholders of EXAMPLE -basic")
    'Net income attributable to shareholders of the Company -basic'
    """
    return _EQUITY.sub("TOTAL COMPANY EQUITY", _HOLDERS.sub("the Company", line))


def _rows(
    published: Sequence[Fact], own: Mapping[Key, Fraction], scale: Fraction, rules: ComparisonRules
) -> Iterator[Compared]:
    for fact in published:
        statement, *_ = key = _key(fact, rules)
        if key not in own:
            continue
        found = own[key]
        grows = fact.unit in SCALED and fact.line not in rules.unscaled
        tolerance = rules.tolerance(statement, fact.line, fact.period.name)
        yield Compared(
            fact.document, statement, fact.line, fact.parent, fact.period.name, fact.unit,
            fact.value, found / scale if grows else found, tolerance,
        )  # fmt: skip


def _sums(rows: Sequence[Compared], rules: ComparisonRules) -> Iterator[Compared]:
    for each in rules.sums:
        for document in dict.fromkeys(row.document for row in rows):
            for period in each.periods:
                parts = {
                    row.line: row
                    for row in rows
                    if (row.document, row.statement, row.period)
                    == (document, each.statement, period) and row.line in each.of
                }  # fmt: skip
                if len(parts) == len(each.of):
                    yield Compared(
                        document, each.statement, each.line, "", period,
                        next(iter(parts.values())).unit,
                        sum((row.published for row in parts.values()), Fraction(0)),
                        sum((row.found for row in parts.values()), Fraction(0)), each.tolerance,
                    )  # fmt: skip
