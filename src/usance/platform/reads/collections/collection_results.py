"""Results of collections by strategy, arm, segment, desk or agency: what came of cases in 30 days.

A case counts from the evening on which it was opened, for a desk from the first on which the
strategy gave it to that desk, for an agency from the day on which it was placed there. It is of
the version of the strategy that served that evening, also if another one serves a later one: arms
of one name in two versions are two arms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from usance.base.errors import UsanceError
from usance.platform.reads.collections.case_results import PAID
from usance.service.collections.experiment import uplift
from usance.service.collections.promises import PromiseState
from usance.service.collections.stages import Stage
from usance.service.collections.strategy_file import CHAMPION

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment

WINDOW = 30
"""Days after which the outcome of a case is known."""
BUCKET = 30
_PPM = 1_000_000


class ResultsBy(Enum):
    """Groups whose results are told."""

    STRATEGY = "strategy"
    ARM = "arm"
    SEGMENT = "segment"
    DESK = "desk"
    AGENCY = "agency"


class Entry(NamedTuple):
    """A case that came to a group on a day, as it was then."""

    group: str
    user_id: int
    begun: date
    past_due_minor: int
    days_past_due: int
    strategy: str = ""
    """The version that served the evening; of arms only, which are its own."""


_OPENED = (
    "select distinct on (d.user_id) d.* from usance.case_days d where d.day between $1 and $2 "
    "and not exists (select from usance.case_days b where b.user_id = d.user_id "
    "and b.day = d.day - 1) order by d.user_id, d.day"
)
_MOVED = (
    "select d.* from usance.case_days d where d.day between $1 and $2 "
    "and not exists (select from usance.case_days b where b.user_id = d.user_id "
    "and b.day = d.day - 1 and b.stage = d.stage and b.desk = d.desk) order by d.user_id, d.day"
)
_PLACED = (
    "select p.name, a.user_id, a.placed_on, a.owed_minor, coalesce((select d.days_past_due "
    "from usance.case_days d where d.user_id = a.user_id and d.day <= a.placed_on "
    "order by d.day desc limit 1), 1) as late from usance.agency_placements a "
    "join usance.principals p on p.principal_id = a.agency "
    "where a.placed_on between $1 and $2 order by a.user_id, a.placed_on"
)
_LATER = (
    "select count(d.day) as evenings, "
    "max(d.days_past_due) filter (where d.day = g.begun + $3::integer) as late "
    "from unnest($1::bigint[], $2::date[]) with ordinality g (user_id, begun, number) "
    "left join usance.case_days d on d.user_id = g.user_id "
    "and d.day between g.begun + 1 and g.begun + $3::integer group by g.number order by g.number"
)


async def results(
    transaction: asyncpg.Connection, moment: Moment, first: date, last: date,
    by: ResultsBy = ResultsBy.ARM,
) -> dict[str, Any]:  # fmt: skip
    """Cases that began in a span by group: paid, cured and rolled in 30 days, contacts, promises.

    Rates of cure and roll are those of cases whose thirty days are over.
    """
    known = min(last, moment.business_date - timedelta(days=WINDOW + 1))
    entries = await _entries(transaction, moment, first, last, by)
    outcomes = await _outcomes(transaction, moment, entries, first, last)
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    shares: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for entry, outcome in zip(entries, outcomes, strict=True):
        named = {by.value: entry.group}
        if by is ResultsBy.ARM:
            named["strategy"] = entry.strategy
        key = entry.strategy, entry.group
        own = groups.setdefault(key, {**named, **dict.fromkeys(_SUMS, 0)})
        own["cases"] += 1
        own["past_due_minor"] += entry.past_due_minor
        for name, value in outcome.items():
            own[name] += value if name in _ALWAYS or entry.begun <= known else 0
        if entry.begun <= known:
            own["known_cases"] += 1
            part = outcome["collected_minor"] / max(entry.past_due_minor, 1)
            shares[entry.strategy].setdefault(entry.group, []).append(part)
    return {
        "from": first.isoformat(), "to": last.isoformat(), "by": by.value,
        "is_complete": known == last, "strategy": moment.lender.collections.strategy.name,
        "groups": [_with_rates(each) for _, each in sorted(groups.items())],
        "uplift": [{"strategy": name, **each} for name, own in sorted(shares.items())
                   for each in _uplifts(own)] if by is ResultsBy.ARM else [],
    }  # fmt: skip


_ALWAYS = ("collected_minor", "contacts", "cost_minor", "promises", "promises_kept",
           "promises_judged")  # fmt: skip
_SUMS = ("cases", "known_cases", "past_due_minor", *_ALWAYS, "cured", "rolled")


async def _entries(
    transaction: asyncpg.Connection, moment: Moment, first: date, last: date, by: ResultsBy
) -> list[Entry]:
    """Cases that began in a span, each once for a group."""
    if by is ResultsBy.AGENCY:
        rows = await transaction.fetch(_PLACED, first, last)
        found = [Entry(*row) for row in rows]
    elif by is ResultsBy.DESK:
        rows = await transaction.fetch(_MOVED, first, last)
        found = [_entry(_desk_of(moment, row), row) for row in rows]
    else:
        rows = await transaction.fetch(_OPENED, first, last)
        found = [_entry(row[by.value], row) for row in rows]
        if by is ResultsBy.ARM:
            found = [each._replace(strategy=row["strategy"])
                     for each, row in zip(found, rows, strict=True)]  # fmt: skip
    once: dict[tuple[str, int], Entry] = {}
    for each in found:
        once.setdefault((each.group, each.user_id), each)
    return list(once.values())


def _entry(group: str, row: Mapping[str, Any]) -> Entry:
    return Entry(group, row["user_id"], row["day"], row["past_due_minor"], row["days_past_due"])


def _desk_of(moment: Moment, row: Mapping[str, Any]) -> str:
    """The desk that an evening gave a case to; of evenings before it was kept, as is done now."""
    if row["desk"]:
        return str(row["desk"])
    strategy = moment.lender.collections.strategy
    segments = [each.name for each in strategy.segments]
    segment = row["segment"] if row["segment"] in segments else segments[-1]
    arm = row["arm"] if row["arm"] in [each.name for each in strategy.arms] else CHAMPION
    return strategy.action(arm, segment, Stage(row["stage"])).desk


async def _outcomes(
    transaction: asyncpg.Connection, moment: Moment, entries: Sequence[Entry], first: date,
    last: date,
) -> list[dict[str, int]]:  # fmt: skip
    """Sums of each entry over its thirty days."""
    users = sorted({each.user_id for each in entries})
    end = last + timedelta(days=WINDOW)
    costs = _costs(moment)
    paid = _by_user(await transaction.fetch(PAID, users, first, end))
    tried = _by_user(await transaction.fetch(
        "select user_id, channel, local_day from usance.contact_attempts "
        "where user_id = any($1::bigint[]) and local_day between $2 and $3", users, first, end,
    ))  # fmt: skip
    promised = _by_user(await transaction.fetch(
        "select user_id, made_on, state from usance.promises "
        "where user_id = any($1::bigint[]) and made_on between $2 and $3", users, first, end,
    ))  # fmt: skip
    later = await transaction.fetch(
        _LATER, [each.user_id for each in entries], [each.begun for each in entries], WINDOW
    )
    found = []
    for entry, after in zip(entries, later, strict=True):
        payments = _within(paid[entry.user_id], "effective_on", entry.begun)
        contacts = _within(tried[entry.user_id], "local_day", entry.begun)
        states = [row["state"] for row in
                  _within(promised[entry.user_id], "made_on", entry.begun)]  # fmt: skip
        is_cured = after["evenings"] < WINDOW  # it was no case on one of them
        is_rolled = after["late"] is not None and (
            _bucket(after["late"]) > _bucket(entry.days_past_due)
        )
        found.append({
            "collected_minor": min(sum(row["amount_minor"] for row in payments),
                                   entry.past_due_minor),
            "contacts": len(contacts),
            "cost_minor": sum(costs.get(row["channel"], 0) for row in contacts),
            "promises": len(states),
            "promises_kept": states.count(PromiseState.KEPT.value),
            "promises_judged": len(states) - states.count(PromiseState.OPEN.value),
            "cured": int(is_cured), "rolled": int(is_rolled),
        })  # fmt: skip
    return found


def _by_user(rows: Sequence[Any]) -> Mapping[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["user_id"]].append(row)
    return found


def _within(rows: Sequence[Any], name: str, begun: date) -> list[Any]:
    return [row for row in rows if 0 <= (row[name] - begun).days <= WINDOW]


def _bucket(days_past_due: int) -> int:
    """Months past due: 1 from the first day to the thirtieth."""
    return (days_past_due + BUCKET - 1) // BUCKET


def _costs(moment: Moment) -> dict[str, int]:
    """Cost of a contact by channel, as the strategy in force has it."""
    strategy = moment.lender.collections.strategy
    return {action.channel.value: action.cost_minor
            for arm in strategy.arms for action in arm.actions.values()}  # fmt: skip


def _with_rates(own: dict[str, Any]) -> dict[str, Any]:
    def part(over: int, under: int) -> int | None:
        return over * _PPM // under if under else None

    return {
        **own,
        "collection_30_ppm": part(own["collected_minor"], own["past_due_minor"]),
        "cure_ppm": part(own["cured"], own["known_cases"]),
        "roll_ppm": part(own["rolled"], own["known_cases"]),
        "kept_ppm": part(own["promises_kept"], own["promises_judged"]),
        "contacts_per_case_ppm": part(own["contacts"], own["cases"]),
        "cost_per_recovered_ppm": part(own["cost_minor"], own["collected_minor"]),
    }  # fmt: skip


def _uplifts(outcomes: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Each challenger against the champion, as far as there are enough cases."""
    champion = outcomes.get(CHAMPION, [])
    found: list[dict[str, Any]] = []
    for name, own in sorted(outcomes.items()):
        if name == CHAMPION:
            continue
        try:
            told = uplift(np.array(champion), np.array(own))
        except UsanceError as error:
            found.append({"arm": name, "waits": str(error)})
        else:
            found.append({"arm": name, **told._asdict(), "is_better": told.is_better,
                          "is_worse": told.is_worse})  # fmt: skip
    return found
