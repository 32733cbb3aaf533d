r"""Features as they were known: for one decision or a column of them, by the same kernel.

>>> from usance.assess.features.definition import parse_features
>>> from usance.assess.features.records import records_of
>>> text = '''
... sources: {bureau: {columns: {open_loans: {type: whole, from: 0, to: 99}}}}
... features:
...   open_loans: {from: bureau, take: latest, of: open_loans, missing: {-1: no bureau file}}
... '''
>>> definitions = parse_features(text)
>>> late = {"effective_on": "2024-05-01", "booked_at": "2024-07-02T00:00:00Z", "open_loans": 3}
>>> records = records_of(definitions, {"bureau": [late]}, 1, "records")
>>> for day in ("2024-06-30", "2024-07-03"):
...     moment = np.datetime64(day, "us").astype(np.int64)
...     known = DecisionTimes.of([1], [np.datetime64(day, "D").astype(int)], [moment])
...     compute_features(definitions, records, known)["open_loans"].tolist()
[-1]
[3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import FeatureError
from usance.assess.features.definition import Aggregate, Definitions, Feature
from usance.assess.features.records import Records, Rows
from usance.base.arrays import I64
from usance.base.compiled import kernel
from usance.base.errors import UsanceError, raise_all
from usance.base.rates import PPM

LATEST, FIRST, COUNT, SUM, HIGHEST, LOWEST, DISTINCT, DAYS_SINCE = range(8)


class RecordArrays(NamedTuple):
    """The records of a source: their days, whether each counts, and what is taken of it."""

    effective_on: NDArray[np.int32]
    booked_at: I64
    keep: NDArray[np.bool_]
    value: I64


class DecisionArrays(NamedTuple):
    """The day and moment of each decision, and the first and last of its user's records."""

    day: NDArray[np.int32]
    known_at: I64
    starts: I64
    stops: I64


@kernel
def take_kernel(  # noqa: C901 -- one case for each thing to take
    what: int, days: int, records: RecordArrays, decisions: DecisionArrays, out: I64, found: I64
) -> None:
    """Take over the records of each decision; `found` counts those that were seen."""
    effective_on, booked_at, keep, value = records
    day, known_at, starts, stops = decisions
    for row in range(len(starts)):
        result = 0
        seen = 0
        best_day, best_booked = 0, 0
        for at in range(starts[row], stops[row]):
            on = effective_on[at]
            # Known is what was booked by then; a fact that was true and not yet booked is not.
            if not keep[at] or booked_at[at] > known_at[row] or on > day[row]:
                continue
            if day[row] - on >= days:
                continue
            seen += 1
            if what == SUM:
                result += value[at]
            elif what == HIGHEST:
                result = value[at] if seen == 1 else max(result, value[at])
            elif what == LOWEST:
                result = value[at] if seen == 1 else min(result, value[at])
            elif what in (LATEST, DAYS_SINCE):
                # Of two rows of one day the later booking is the correction.
                newer = on > best_day or (on == best_day and booked_at[at] >= best_booked)
                if seen == 1 or newer:
                    best_day, best_booked, result = on, booked_at[at], value[at]
            elif what == FIRST:
                older = on < best_day or (on == best_day and booked_at[at] >= best_booked)
                if seen == 1 or older:
                    best_day, best_booked, result = on, booked_at[at], value[at]
            elif what == DISTINCT:
                fresh = 1
                for other in range(starts[row], at):
                    visible = keep[other] and booked_at[other] <= known_at[row]
                    inside = effective_on[other] <= day[row]
                    recent = day[row] - effective_on[other] < days
                    if visible and inside and recent and value[other] == value[at]:
                        fresh = 0
                        break
                result += fresh
        if what == COUNT:
            result = seen
        elif what == DAYS_SINCE:
            result = day[row] - best_day
        out[row] = result
        found[row] = seen


MAX_OF_A_SHARE = 2**62 // PPM
"""Beyond this, parts per million would not fit into 64 bits."""

_CODES: dict[Aggregate, int] = {take: number for number, take in enumerate(Aggregate)}
_SCALES = {Aggregate.SHARE: PPM, Aggregate.RATIO: 1}
_PLAIN = (Aggregate.SUM, Aggregate.HIGHEST, Aggregate.LOWEST, Aggregate.DISTINCT)


@dataclass(frozen=True)
class DecisionTimes:
    """The user, the business day and the latest booking time of each decision."""

    user_id: I64
    day: NDArray[np.int32]
    known_at: I64

    @classmethod
    def of(cls, users: Any, days: Any, known_at: Any) -> DecisionTimes:
        """From any arrays or lists of equal length."""
        made = cls(
            np.asarray(users, np.int64), np.asarray(days, np.int32), np.asarray(known_at, np.int64)
        )
        if not len(made.user_id) == len(made.day) == len(made.known_at):
            fix = "Give one user, day and moment for each decision"
            raise FeatureError("columns of unequal length", where="moments", fix=fix)
        return made


def compute_features(
    definitions: Definitions, records: Records, moments: DecisionTimes
) -> dict[str, I64]:
    """Every feature of every decision; a required one that is not there is an error."""
    found: dict[str, I64] = {}
    problems: list[UsanceError] = []
    spans = {name: rows.spans(moments.user_id) for name, rows in records.items()}
    unseen: dict[str, NDArray[np.bool_]] = {}
    for feature in definitions.features:
        if feature.take in _SCALES:
            found[feature.name] = _share(feature, found, definitions)
            continue
        values, seen = _taken(definitions, feature, records[feature.source], spans, moments)
        absent = seen == 0
        if feature.take in (Aggregate.COUNT, Aggregate.SUM, Aggregate.DISTINCT):
            if feature.needs not in unseen:
                unseen[feature.needs] = _unseen(feature.needs, records, spans, moments)
            absent = unseen[feature.needs]
        problems += _required(feature, absent, moments)
        if feature.missing is not None:
            values[absent] = feature.missing
        found[feature.name] = values
    raise_all(problems, where="features")
    return found


def _taken(
    definitions: Definitions, feature: Feature, rows: Rows, spans: dict[str, tuple[I64, I64]],
    moments: DecisionTimes,
) -> tuple[I64, I64]:  # fmt: skip
    keep = np.ones(len(rows.booked_at), np.bool_)
    for column, codes in feature.where:
        keep &= np.isin(rows.values[column], codes)
    value = rows.values[feature.of] if feature.of else rows.booked_at
    if feature.of and feature.take in _PLAIN:
        # A special code is no amount: it is neither added nor compared.
        special = definitions.sources[feature.source].columns[feature.of].special
        if special:
            keep &= ~np.isin(value, list(special))
    starts, stops = spans[feature.source]
    return _run(feature.take, feature.days, starts, stops, rows, keep, value, moments)


def _run(
    take: Aggregate, days: int, starts: I64, stops: I64, rows: Rows, keep: NDArray[np.bool_],
    value: I64, moments: DecisionTimes,
) -> tuple[I64, I64]:  # fmt: skip
    out = np.empty(len(starts), np.int64)
    found = np.empty(len(starts), np.int64)
    records = RecordArrays(rows.effective_on, rows.booked_at, keep, value)
    decisions = DecisionArrays(moments.day, moments.known_at, starts, stops)
    take_kernel(_CODES[take], days, records, decisions, out, found)
    return out, found


def _unseen(
    source: str, records: Records, spans: dict[str, tuple[I64, I64]], moments: DecisionTimes
) -> NDArray[np.bool_]:
    """A mark where the source whose presence makes 'no rows' mean zero has no records either."""
    if not source:
        return np.zeros(len(moments.user_id), np.bool_)
    rows = records[source]
    keep = np.ones(len(rows.booked_at), np.bool_)
    starts, stops = spans[source]
    _, seen = _run(Aggregate.COUNT, 1 << 30, starts, stops, rows, keep, rows.booked_at, moments)
    return np.asarray(seen == 0)


def _required(
    feature: Feature, absent: NDArray[np.bool_], moments: DecisionTimes
) -> Sequence[UsanceError]:
    if feature.missing is not None or not absent.any():
        return []
    row = int(np.argmax(absent))
    more = f" and {int(absent.sum()) - 1} more" if absent.sum() > 1 else ""
    what = f"{feature.name} of user {moments.user_id[row]}{more} is not there"
    source = feature.needs or feature.source
    fix = f"It is required: give a record of {source} booked before the decision"
    return [FeatureError(what, where=f"features.{feature.name}", fix=fix)]


def _share(feature: Feature, found: dict[str, I64], definitions: Definitions) -> I64:
    part, whole = (found[name] for name in feature.parts)
    codes = {each.name: each.missing for each in definitions.features}
    absent = whole <= 0
    for name, values in zip(feature.parts, (part, whole), strict=True):
        if codes[name] is not None:
            absent |= values == codes[name]
    divisor = np.where(absent, np.int64(1), whole)
    if len(part) and int(np.abs(part).max()) > MAX_OF_A_SHARE:
        fix = f"Give parts of a share up to {MAX_OF_A_SHARE}"
        raise FeatureError("a part is too large", where=f"features.{feature.name}", fix=fix)
    shares = (2 * part * _SCALES[feature.take] + divisor) // (2 * divisor)
    return np.asarray(np.where(absent, feature.missing, shares), np.int64)
