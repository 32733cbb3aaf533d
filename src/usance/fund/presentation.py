"""Payment dates and classes of a deal, as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from usance.base.command_line import number, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from usance.fund.deal import Deal
    from usance.fund.deal_terms import DealTerms
    from usance.fund.payment_date import Distribution
    from usance.fund.pool_columns import PoolColumns
    from usance.fund.projection import Projection
    from usance.fund.report_tables import InvestorReport
    from usance.fund.results import ClassResult


def class_result(each: ClassResult) -> dict[str, int | None]:
    """Results of a class, for programs."""
    return {
        "wal_ppm": each.wal_ppm, "yield_ppb": each.yield_ppb, "short_minor": each.short_minor,
        "break_even_hundredths": each.break_even_hundredths,
        "expected_loss_ppm": each.expected_loss_ppm,
    }  # fmt: skip


def print_dates(rows: Sequence[Distribution], currency: str) -> None:
    """Payment dates for people: collected, fees, and what each class is paid."""
    names = list(rows[0].classes)
    headings = ["date", "status", "collected", "fees"]
    headings += [f"{name} {what}" for name in names for what in ("interest", "principal")]
    listed = []
    for row in rows:
        line = [row.paid_on.isoformat(), row.status.value, number(row.collected_minor, currency),
                number(sum(row.fees.values()), currency)]  # fmt: skip
        for paid in row.classes.values():
            line.append(number(paid.interest_minor + paid.residual_minor, currency))
            line.append(number(paid.principal_minor, currency))
        listed.append(line)
    print_table(headings, listed)


def print_results(found: dict[str, ClassResult], currency: str) -> None:
    """Results of each class for people."""

    def shown(value: int | None, decimals: int, unit: str = "") -> str:
        if value is None:
            return ""
        digits = f"{abs(value):0{decimals + 1}}"
        return f"{'-' * (value < 0)}{digits[:-decimals]}.{digits[-decimals:]}{unit}"

    headings = ["class", "average life", "yield", "short", "break-even", "expected loss"]
    print_table(headings, [
        [name, shown(each.wal_ppm, 6), shown(each.yield_ppb, 7, " %"),
         number(each.short_minor, currency), shown(each.break_even_hundredths, 2, " ×"),
         shown(each.expected_loss_ppm, 4, " %")]
        for name, each in found.items()
    ])  # fmt: skip


def last_report(
    folder: Path, deal: Deal, terms: DealTerms, rows: Sequence[Distribution],
    loans: PoolColumns | None, language: str,
) -> InvestorReport:  # fmt: skip
    """The investor report of the last date; its strata are those of the loans, or those it kept."""
    from usance.fund.deal_folder import read_strata
    from usance.fund.payment_files import read_state
    from usance.fund.pool_strata import strata_of
    from usance.fund.report_tables import investor_report

    strata = read_strata(folder, rows[-1].period) if rows else []
    if loans is not None:
        strata = list(strata_of(loans))
    return investor_report(deal, terms, rows, read_state(folder, deal), strata, language=language)


def market_of(
    run: Projection, found: dict[str, ClassResult], prices: str, yields: str, curve: Path | None
) -> dict[str, dict[str, int | None]]:
    """For each class asked about: yield at a price, price at a yield, spread over a curve."""
    from usance.fund.curves import read_curve
    from usance.fund.deal_file import MAX_PRICE_PPM
    from usance.fund.results import class_price_ppm, class_yield_ppb, spread_ppb

    told: dict[str, dict[str, int | None]] = {}
    for name, price in _by_class(prices, found, "--prices", 1, MAX_PRICE_PPM):
        told.setdefault(name, {})["yield_at_price_ppb"] = class_yield_ppb(run, name, price)
    for name, rate in _by_class(yields, found, "--yields", -900_000, MAX_PRICE_PPM):
        told.setdefault(name, {})["price_ppm"] = class_price_ppm(run, name, rate * 1_000)
    if curve is not None:
        read = read_curve(curve)
        for name, each in found.items():
            told.setdefault(name, {})["spread_ppb"] = spread_ppb(each, read, run.deal.closing_on)
    return told


def _by_class(
    given: str, found: dict[str, ClassResult], where: str, least: int, largest: int
) -> list[tuple[str, int]]:
    from usance.base.errors import unknown
    from usance.base.fields import whole_of

    pairs = [part.partition("=") for part in given.split(",") if part.strip()]
    for name, _, _ in pairs:
        if name.strip() not in found:
            raise unknown("class", name.strip(), found, where=where)
    return [(name.strip(), whole_of(least, largest)(text.strip(), where))
            for name, _, text in pairs]  # fmt: skip
