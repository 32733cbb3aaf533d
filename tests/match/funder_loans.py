"""Real loans of several funders, split and reserved again: `loans.csv.gz` of eight African funders.

Each row is a funder's part in a loan; what the funders do not take, the originator keeps. The
replay drops what cannot be used (every reason counted), splits each loan again by its portions,
and holds the result against the amounts that were really funded. Then all loans meet the
reservation desk in order of day, with each funder's real total as its ceiling: all must fit, and
nothing may be left.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from usance.base.dates import parse_date
from usance.base.errors import DateError, DocumentError, UsanceError
from usance.base.money import Money, half_up
from usance.base.rates import PPM
from usance.match.reservation.events import (
    Answered,
    Candidate,
    LimitSet,
    Requested,
    ReservationEvent,
)
from usance.match.reservation.reservation import rebuild
from usance.match.reservation.split import split_by_weight, split_columns

CURRENCIES = {"Kenya": "KES", "Ghana": "GHS"}
ORIGINATOR = 0
"""Stands for who keeps the part of a loan that no funder took."""
WHOLE = 10**15  # portions are printed with fifteen digits
COLUMNS = (
    "customer_id", "country_id", "tbl_loan_id", "lender_id", "Total_Amount",
    "Total_Amount_to_Repay", "disbursement_date", "due_date", "New_versus_Repeat",
    "Amount_Funded_By_Lender", "Lender_portion_Funded", "Lender_portion_to_be_repaid",
)  # fmt: skip


class Part(NamedTuple):
    """A funder's part in a loan, as the file has it."""

    loan: int
    funder: int
    currency: str
    total_minor: int
    disbursed_on: date
    funded_minor: int
    portion: int
    to_be_repaid_minor: int


@dataclass(frozen=True, slots=True)
class FunderReport:
    """What one funder did in one currency, and how its parts came out when split again."""

    funder: int
    currency: str
    loans: int
    co_funded: int
    funded_minor: int
    to_be_repaid_minor: int
    share_ppm: int
    """Its part of the principal of its loans."""
    exact: int
    within_one: int
    further: int
    first_on: date
    last_on: date
    headroom_left_minor: int


@dataclass(frozen=True, slots=True)
class RealReplay:
    """The whole replay, ready to print."""

    rows: int
    dropped: dict[str, int]
    noted: dict[str, int]
    loans: int
    co_funded: int
    parts: dict[str, int]
    """Each part against the loan's total split by its portions, the originator's among them."""
    co_funded_by_portion: dict[str, int]
    """Each co-funded loan's funded amounts against their sum split by portions."""
    repaid_by_funded: dict[str, int]
    """Each co-funded loan's repayments against their sum split by funded amounts."""
    columns_differ: int
    reservations: dict[str, int]
    funders: tuple[FunderReport, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def replay_real(path: Path | str) -> RealReplay:
    """Read, clean, split again, reserve again and report."""
    rows = _rows(path)
    dropped: Counter[str] = Counter()
    noted: Counter[str] = Counter()
    loans = _clean(rows, dropped, noted)
    together = [parts for parts in loans if len(parts) > 1]
    again = [_split_again(parts) for parts in loans]
    reservations, rooms = _reserve(loans)
    return RealReplay(
        rows=len(rows),
        dropped=dict(sorted(dropped.items())),
        noted=dict(sorted(noted.items())),
        loans=len(loans),
        co_funded=len(together),
        parts=_distances(_off(parts, made) for parts, made in zip(loans, again, strict=True)),
        co_funded_by_portion=_distances([_worst_by_portion(parts)] for parts in together),
        repaid_by_funded=_distances([_worst_repaid(parts)] for parts in together),
        columns_differ=_columns_differ(loans, again),
        reservations=reservations,
        funders=tuple(_funders(loans, again, rooms)),
    )


def _rows(path: Path | str) -> list[dict[str, str]]:
    """Every row by column name; a file that is none is named."""
    fail = partial(DocumentError, where=str(path))
    try:
        text = gzip.decompress(Path(path).read_bytes()).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise fail(f"is no gzipped text ({error})", fix="Give loans.csv.gz as it is") from None
    except OSError as error:
        raise fail(f"cannot be read: {error.strerror}", fix="Check the name") from None
    reader = csv.DictReader(text.splitlines(), restkey="", restval="")
    lacking = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if lacking:
        raise fail(f"lacks {', '.join(lacking)}", fix="Give the file with all its columns")
    return list(reader)


def _clean(
    rows: Sequence[dict[str, str]], dropped: Counter[str], noted: Counter[str]
) -> list[list[Part]]:
    """The parts of each usable loan, in order of day and loan; the rest is counted by reason."""
    loans: dict[str, list[Part]] = defaultdict(list)
    new_or_repeat: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        part = _part(row)
        if isinstance(part, str):
            dropped[part] += 1
            continue
        loans[row["tbl_loan_id"]].append(part)
        new_or_repeat[row["tbl_loan_id"]].add(row["New_versus_Repeat"])
        noted["parts that bring nothing back"] += part.to_be_repaid_minor == 0
    for name, parts in list(loans.items()):
        if reason := _loan_problem(parts):
            dropped[reason] += len(loans.pop(name))
        else:
            noted["loans both new and repeat"] += len(new_or_repeat[name]) > 1
    return sorted(
        (sorted(parts, key=lambda part: part.funder) for parts in loans.values()),
        key=lambda parts: (parts[0].disbursed_on, parts[0].loan),
    )


def _part(row: dict[str, str]) -> Part | str:
    """A row's part, or why it is none."""
    if (currency := CURRENCIES.get(row["country_id"])) is None:
        return "unknown country"
    try:
        total, repay, funded, repaid = (
            Money.parse(Decimal(row[name]), currency).minor
            for name in ("Total_Amount", "Total_Amount_to_Repay", *_OF_FUNDER)
        )
        portion = int((Decimal(row["Lender_portion_Funded"]) * WHOLE).to_integral_value())
        loan, funder = int(row["tbl_loan_id"]), int(row["lender_id"])
        disbursed_on, due_on = (parse_date(row[day]) for day in ("disbursement_date", "due_date"))
    except (UsanceError, InvalidOperation, ValueError) as error:
        return "not a date" if isinstance(error, DateError) else "not a number"
    if total <= 0 or min(repay, funded, repaid, portion) < 0:
        return "amount below zero"
    if due_on < disbursed_on:
        return "due before it was disbursed"
    if not funded:
        return "nothing funded"
    return Part(loan, funder, currency, total, disbursed_on, funded, portion, repaid)


def _loan_problem(parts: Sequence[Part]) -> str:
    first = parts[0]
    if any(
        (part.total_minor, part.currency) != (first.total_minor, first.currency) for part in parts
    ):
        return "rows of one loan disagree"
    if len({part.funder for part in parts}) < len(parts):
        return "a funder twice in one loan"
    if sum(part.funded_minor for part in parts) > first.total_minor:
        return "more funded than lent"
    if sum(part.portion for part in parts) > WHOLE:
        return "portions above one"
    return ""


def _weights(parts: Sequence[Part]) -> dict[int, int]:
    weights = {part.funder: part.portion for part in parts}
    return {ORIGINATOR: WHOLE - sum(weights.values()), **weights}


def _split_again(parts: Sequence[Part]) -> dict[int, int]:
    return split_by_weight(parts[0].total_minor, _weights(parts))


def _off(parts: Sequence[Part], made: dict[int, int]) -> list[int]:
    return [abs(made[part.funder] - part.funded_minor) for part in parts]


def _worst_by_portion(parts: Sequence[Part]) -> int:
    funded = sum(part.funded_minor for part in parts)
    return max(_off(parts, split_by_weight(funded, {part.funder: part.portion for part in parts})))


def _worst_repaid(parts: Sequence[Part]) -> int:
    repaid = sum(part.to_be_repaid_minor for part in parts)
    made = split_by_weight(repaid, {part.funder: part.funded_minor for part in parts})
    return max(abs(made[part.funder] - part.to_be_repaid_minor) for part in parts)


def _distances(offs: Iterable[list[int]]) -> dict[str, int]:
    """How many came out to the minor unit, within one, within a whole unit of money, or further."""
    found: Counter[str] = Counter(exact=0, within_one=0, within_a_hundred=0, further=0)
    for off in (each for several in offs for each in several):
        near = "within_one" if off == 1 else "within_a_hundred" if off <= 100 else "further"
        found[near if off else "exact"] += 1
    return dict(found)


def _columns_differ(loans: Sequence[Sequence[Part]], again: Sequence[dict[int, int]]) -> int:
    """Parts that the function on columns makes otherwise than the one on a single loan."""
    rows = [
        (place, funder, weight, made[funder])
        for place, (parts, made) in enumerate(zip(loans, again, strict=True))
        for funder, weight in _weights(parts).items()
    ]
    loan, funder, weight, expected = np.array(rows, np.int64).reshape(-1, 4).T
    totals = np.array([parts[0].total_minor for parts in loans], np.int64)
    return int((split_columns(totals, loan, funder, weight) != expected).sum())


def _reserve(loans: Sequence[Sequence[Part]]) -> tuple[dict[str, int], dict[str, int]]:
    """Every loan through the desk under the real totals: where each stands, and room left."""
    ceilings: Counter[str] = Counter()
    for part in (each for parts in loans for each in parts):
        ceilings[_limit(part)] += part.funded_minor
    start = datetime(1970, 1, 1, tzinfo=UTC)
    log: list[ReservationEvent] = [
        LimitSet(start, name, most) for name, most in sorted(ceilings.items())
    ]
    for parts in loans:
        at = datetime.combine(parts[0].disbursed_on, time(), UTC)
        key, sources = str(parts[0].loan), tuple(part.funder for part in parts)
        uses = tuple((_limit(part), part.funded_minor) for part in parts)
        asked = Candidate(sources, uses, timedelta(minutes=1))
        log.append(Requested(at, key, parts[0].loan, (asked,)))
        log += [Answered(at, key, 1, source, approved=True) for source in sources]
    state = rebuild(log)
    checkpoint = Counter(placement.status.label for placement in state.placements.values())
    rooms = {name: limit.headroom_minor for name, limit in state.limits.items()}
    return dict(sorted(checkpoint.items())), rooms


def _limit(part: Part) -> str:
    return f"{part.funder}/{part.currency}/total"


def _funders(
    loans: Sequence[Sequence[Part]], again: Sequence[dict[int, int]], rooms: dict[str, int]
) -> Iterator[FunderReport]:
    mine: dict[tuple[int, str], list[tuple[Part, int, bool]]] = defaultdict(list)
    for parts, made in zip(loans, again, strict=True):
        for part, off in zip(parts, _off(parts, made), strict=True):
            mine[part.funder, part.currency].append((part, off, len(parts) > 1))
    for (funder, currency), found in sorted(mine.items()):
        parts = [part for part, _, _ in found]
        funded_minor = sum(part.funded_minor for part in parts)
        exact, within_one = (sum(off == far for _, off, _ in found) for far in (0, 1))
        yield FunderReport(
            funder,
            currency,
            loans=len(parts),
            co_funded=sum(together for _, _, together in found),
            funded_minor=funded_minor,
            to_be_repaid_minor=sum(part.to_be_repaid_minor for part in parts),
            share_ppm=half_up(funded_minor * PPM, sum(part.total_minor for part in parts)),
            exact=exact,
            within_one=within_one,
            further=len(parts) - exact - within_one,
            first_on=min(part.disbursed_on for part in parts),
            last_on=max(part.disbursed_on for part in parts),
            headroom_left_minor=rooms[_limit(parts[0])],
        )


_OF_FUNDER = ("Amount_Funded_By_Lender", "Lender_portion_to_be_repaid")
