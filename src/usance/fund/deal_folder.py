"""A deal's folder: its loans, its state and its dates, as files by name.

    pool-001.csv   its loans after the first date: since when, until when, price, when defaulted
    state.json     the state, up to which day collections are in, and what was known then
    strata-001.csv the performing loans by grade, region, product, months left and arrears
    date-001.json, instructions-001.csv, facts.json   as `usance fund pay` writes them

The files are bytes by name here, so that a book keeps them as well as a disk does. The state is
written last and says which pool is meant: without it a date was not paid.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from io import StringIO
from pathlib import Path

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import from_day, parse_date, to_day
from usance.base.documents import parse_json
from usance.base.errors import raise_all
from usance.base.fields import fields_of
from usance.fund.deal import Deal, MonthFlows
from usance.fund.deal_file import parse_deal
from usance.fund.deal_terms import DealTerms, terms_of_fields
from usance.fund.errors import PoolError
from usance.fund.held_deal import CLOSING, NEVER, PURCHASE, DealPool, HeldDeal, PaidDate
from usance.fund.payment_date import Distribution
from usance.fund.payment_files import STATE, date_files, json_bytes
from usance.fund.pool_strata import PoolStratum, strata_bytes, strata_of_bytes
from usance.fund.state import state_of_deal

HELD = "held"
"""The key of the state file under which a deal with loans keeps what it holds."""
_REASONS = {CLOSING: "closing", PURCHASE: "purchase"}
_HEADER = ("deal", "loan_id", "from_on", "to_on", "price_minor", "reason", "defaulted_on")


def deal_of_text(text: str, where: str) -> tuple[Deal, DealTerms]:
    """A deal and its terms from the text of a file."""
    deal, fields = parse_deal(text, where), fields_of(text, where)
    terms = terms_of_fields(fields)
    raise_all(fields.problems)
    return deal, terms


def held_files(held: HeldDeal) -> dict[str, bytes]:
    """The files of a deal as it stands; the state comes last."""
    kept = {
        "until": held.until.isoformat(), "known_at": held.known_at.isoformat(),
        "carried": asdict(held.carried),
        "bought_out": [[day.isoformat(), minor] for day, minor in held.bought_out],
    }  # fmt: skip
    return {
        pool_name(held.state.period): pool_bytes(held.pool, held.deal.name),
        STATE: json_bytes({**held.state.as_dict(), HELD: kept}),
    }


def paid_files(paid: PaidDate, earlier: Sequence[Distribution]) -> dict[str, bytes]:
    """The files that a payment date adds or changes; `earlier` are the dates before it."""
    held = paid.held
    rows = [*(each for each in earlier if each.period < paid.row.period), paid.row]
    of_date = date_files(held.deal, held.terms, rows, held.state, held.bought_out)
    made = {name: content for name, content in of_date.items() if name != STATE}
    if paid.strata:
        made[strata_name(paid.row.period)] = strata_bytes(paid.strata)
    return made | held_files(held)


def read_held(deal: Deal, terms: DealTerms, read: Callable[[str], bytes]) -> HeldDeal:
    """The deal whose files `read` gives by name."""
    given = parse_json(read(STATE).decode())
    kept, state = given[HELD], state_of_deal(given, deal)
    name = pool_name(state.period)
    return HeldDeal(
        deal, terms, state, pool_of_bytes(read(name), name), parse_date(kept["until"]),
        datetime.fromisoformat(kept["known_at"]), MonthFlows(**kept["carried"]),
        tuple((parse_date(day), minor) for day, minor in kept["bought_out"]),
    )  # fmt: skip


def pool_name(period: int) -> str:
    """The file of a deal's loans after so many dates."""
    return f"pool-{period:03}.csv"


def strata_name(period: int) -> str:
    """The file of the strata of a deal's performing loans after so many dates."""
    return f"strata-{period:03}.csv"


def read_strata(folder: Path, period: int) -> list[PoolStratum]:
    """The strata that a date left; none if it was paid from files of collections."""
    file = folder / strata_name(period)
    return strata_of_bytes(file.read_bytes(), str(file)) if file.exists() else []


def holds_loans(read: Callable[[str], bytes]) -> bool:
    """True if the state of a deal says which loans it holds."""
    return HELD in parse_json(read(STATE).decode())


def pool_bytes(pool: DealPool, deal: str) -> bytes:
    """The loans of a deal as CSV, a row each; a day that is not is empty.

    >>> pool = DealPool(*(np.array([n], np.int64) for n in (16385, 19723, NEVER, 500, 0, NEVER)))
    >>> print(pool_bytes(pool, "PLAN1").decode(), end="")
    deal,loan_id,from_on,to_on,price_minor,reason,defaulted_on
    PLAN1,16385,2024-01-01,,500,closing,
    >>> again = pool_of_bytes(pool_bytes(pool, "PLAN1"), "pool.csv")
    >>> again.price_minor.tolist(), again.to_on.tolist()
    ([500], [-1])
    """
    days = (_days(each) for each in (pool.from_on, pool.to_on, pool.defaulted_on))
    since, until, defaulted = days
    reasons = [_REASONS[each] for each in pool.reason.tolist()]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows(zip(
        [deal] * len(pool), pool.loan_id.tolist(), since, until, pool.price_minor.tolist(),
        reasons, defaulted, strict=True,
    ))  # fmt: skip
    return out.getvalue().encode()


def pool_of_bytes(content: bytes, where: str) -> DealPool:
    """The loans of a deal from their CSV."""
    codes = {name: code for code, name in _REASONS.items()}
    rows = csv.DictReader(StringIO(content.decode()))
    try:
        numbers = [
            (int(row["loan_id"]), _number(row["from_on"]), _number(row["to_on"]),
             int(row["price_minor"]), codes[row["reason"]], _number(row["defaulted_on"]))
            for row in rows
        ]  # fmt: skip
    except (KeyError, ValueError, TypeError) as error:
        what, fix = f"line {rows.line_num}: {error}", "Give the file as `usance fund pay` wrote it"
        raise PoolError(what, where=where, fix=fix) from None
    return DealPool(*np.array(numbers, np.int64).reshape(-1, 6).T)


def held_loans(read: Callable[[str], bytes]) -> I64:
    """Loans that a deal holds now, from its files."""
    name = pool_name(int(parse_json(read(STATE).decode())["names"]["period"]))
    pool = pool_of_bytes(read(name), name)
    found: I64 = pool.loan_id[pool.to_on == NEVER]
    return found


def _days(numbers: I64) -> list[str]:
    known = {each: from_day(each).isoformat() for each in np.unique(numbers).tolist()
             if each != NEVER}  # fmt: skip
    return [known.get(each, "") for each in numbers.tolist()]


def _number(day: str) -> int:
    return to_day(parse_date(day)) if day else NEVER
