"""Funding sources and their limits as tables: a version for each mandate they give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import Scope
from usance.base.columns import arrays, make
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.manifest import FileEntry
from usance.base.tables import table
from usance.match.mandates.limits import LimitKind, list_limits
from usance.match.reservation.split import split_columns
from usance.twin.month.loan_terms import PRODUCTS
from usance.twin.month.mandates import month_mandates
from usance.twin.run.run_context import RunContext

HISTORY = 60
"""Months before the opening in which opening loans may have been drawn."""
FIRST_VERSION = 1


def sources_table(context: RunContext) -> pa.Table:
    """Every source on its terms: before the run, then a version for each of its mandates."""
    columns = np.array([row for n in range(1, context.sources + 1) for row in _rows(context, n)]).T
    names = (
        "source", "version", "valid_from", "valid_to", "institution", "entity", "model",
        "coupon_ppm", "fee_ppm", "trigger_days", "guarantor", "co_share_ppm", "settlement_lag",
    )  # fmt: skip
    days = {"valid_from", "valid_to"}
    return make("sources", **{
        name: values.astype(np.int32) if name in days else values
        for name, values in zip(names, columns, strict=True)
    })  # fmt: skip


def _rows(context: RunContext, number: int) -> Iterator[tuple[int, ...]]:
    scenario, institutions = context.scenario, context.institutions
    opening = context.opening_month
    begun = to_day(first_of_month(opening - HISTORY)), to_day(last_of_month(opening))
    spans = [(FIRST_VERSION, *begun, opening)]
    for month in range(scenario.first_month, scenario.final_month + 1):
        funding = institutions.funding[number - 1]
        found = institutions.events.spans(number, funding, month)
        version = institutions.events.first_version(number, funding, month)
        spans += [(version + n, each.first_day, each.last_day, month)
                  for n, each in enumerate(found)]  # fmt: skip
    for version, first, last, month in spans:
        terms = scenario.terms(institutions.funding[number - 1].model, month)
        yield (
            number, version, first, last, number, terms.entity, int(terms.model),
            institutions.coupon_ppm(number, month), terms.fee_ppm, terms.trigger_days, 0, 0,
            terms.settlement_days,
        )  # fmt: skip


def limits_table(context: RunContext, month: int, book: Book, released_before: I64) -> pa.Table:
    """The most each source may have out under a month's mandates.

    That is what it has out on the eve, and what the mandate lets it lend besides; what comes back
    makes room again where budgets revolve.
    """
    mandates = month_mandates(context.institutions, month, released_before)
    out = _owed(context, month - 1, book)
    rows = []
    for limit in list_limits(mandates):
        assert limit.kind is LimitKind.TOTAL, "mandates of the world have a budget and no more"
        mandate = mandates.mandates[limit.column]
        out[mandate.source] += limit.bound
        rows.append((mandate.source, mandate.version, limit.number, out[mandate.source]))
    source, version, number, amount = np.array(rows, np.int64).T
    return make(
        "limits", source=source, version=version, limit=number, amount_minor=amount,
        scope=np.full(len(rows), int(Scope.TOTAL)), share_ppm=np.full(len(rows), -1),
    )  # fmt: skip


def _owed(context: RunContext, month: int, book: Book) -> I64:
    """Unpaid principal at a month's end by source."""

    def owed(file: FileEntry) -> I64:
        found = np.zeros(context.sources + 1, np.int64)
        rows = book.read_file(table("tape"), file, ["cell", "principal_minor"])
        source = (rows["cell"].to_numpy().astype(np.int64) - 1) // PRODUCTS + 1
        np.add.at(found, source, rows["principal_minor"].to_numpy())
        return found

    parts = parallel_map(owed, book.files("tape", month=month), available_cores())
    return sum(parts, np.zeros(context.sources + 1, np.int64)) + _of_partners(context, month, book)


def _of_partners(context: RunContext, month: int, book: Book) -> I64:
    """Principal of co-funded loans, which the tape has with their leads, moved to each source."""
    moved = np.zeros(context.sources + 1, np.int64)
    shares = arrays(book.read("shares"))
    if not len(shares["loan_id"]):
        return moved
    tape = arrays(book.read("tape", ["loan_id", "cell", "principal_minor"], month=month))
    own = np.flatnonzero(np.isin(tape["loan_id"], shares["loan_id"]))
    order = own[np.argsort(tape["loan_id"][own], kind="stable")]
    ids, owed = tape["loan_id"][order], tape["principal_minor"][order]
    there = np.flatnonzero(np.isin(shares["loan_id"], ids))
    source = shares["source"][there].astype(np.int64)
    parts = split_columns(owed, np.searchsorted(ids, shares["loan_id"][there]), source,
                          shares["principal_minor"][there])  # fmt: skip
    np.add.at(moved, source, parts)
    np.subtract.at(moved, (tape["cell"][order].astype(np.int64) - 1) // PRODUCTS + 1, owed)
    return moved
