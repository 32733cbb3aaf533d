"""The output tables of assessing: `decisions`, `lines` for service and `requests` for match.

An application that grants a line opens it, a review changes or freezes it, an approved drawdown
becomes a request. All work on columns; one decision is a column of one.

>>> from usance.base.columns import make
>>> numbers = dict(score=612, pd_ppm=9000, grade=2, line_minor=500000, rate_ppm=180000, flow_no=1)
>>> one = dict(decision_id=16385, booked_at=1719763199000000, kind=0, approved=1, **numbers)
>>> one |= dict.fromkeys(("model_no", "reason_1", "reason_2", "reason_3", "reason_4"), 0)
>>> decisions = make("decisions", **{name: [value] for name, value in one.items()}, latency_us=[0])
>>> row = line_rows(decisions, line_id=16385, product=1, time_zone="Asia/Shanghai")
>>> row.column("effective_on").to_pylist(), row.column("limit_minor").to_pylist()
([datetime.date(2024, 6, 30)], [500000])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.assess.decision.columns import DecisionColumns
from usance.assess.decision.decide import Decision
from usance.assess.errors import DecisionTableError
from usance.assess.flow.files import Flow
from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import Code, DecisionKind, DecisionOutcome
from usance.base.columns import arrays, make, sort
from usance.base.dates import from_day, to_month
from usance.base.errors import UsanceError, raise_all
from usance.base.ids import PER_USER, SHARD_BITS, print_id
from usance.base.tables import table

_ID_COLUMNS = {"decisions": "decision_id", "lines": "line_id", "requests": "loan_id"}
_MOMENT_COLUMNS = {"decisions": "booked_at", "lines": "booked_at", "requests": "requested_at"}
_NUMBERS = ("score", "pd_ppm", "grade", "line_minor", "rate_ppm")


class LineState(Code):
    """The state of a credit line."""

    CLOSED = 0
    ACTIVE = 1
    FROZEN = 2


def decision_rows(
    flow: Flow, kind: DecisionKind, decided: DecisionColumns, *, decision_id: Any, booked_at: Any,
    latency_us: Any = 0,
) -> pa.Table:  # fmt: skip
    """The table `decisions` of a batch, in order of its ids; moments are microseconds in UTC."""
    rows = len(decided.approved)
    model_no = max((stage.number for stage in flow.stages_for(kind)), default=0)
    columns = {
        "decision_id": decision_id, "booked_at": booked_at, "kind": int(kind),
        "approved": np.where(decided.referred, int(DecisionOutcome.REFERRED), decided.approved),
        "flow_no": flow.number,
        "model_no": model_no, "latency_us": latency_us,
        **{name: decided.values.get(name, 0) for name in _NUMBERS},
        **{f"reason_{at}": codes for at, codes in enumerate(decided.reasons, start=1)},
    }  # fmt: skip
    return sort(make("decisions", **_whole(columns, rows)), table("decisions"))


def rows_of_decisions(decisions: Sequence[Decision]) -> pa.Table:
    """The table `decisions` of decisions that were taken one at a time."""
    rows = [decision.row() for decision in decisions]
    spec = table("decisions")
    return sort(make(spec, **{name: [row[name] for row in rows] for name in spec.names}), spec)


def line_rows(decisions: pa.Table, *, line_id: Any, product: Any, time_zone: str) -> pa.Table:
    """The table `lines`: one value of each column for each decision; drawdowns change no line.

    A declined review freezes the line: its limit is 0 until a later review grants one. Of several
    changes of a line on one business day the last stands.
    """
    held = arrays(decisions)
    given = _whole({"line_id": line_id, "product": product}, len(held["decision_id"]))
    granted = (held["approved"] == 1) & (held["line_minor"] > 0)
    opens = granted & (held["kind"] == int(DecisionKind.APPLICATION))
    used = opens | (held["kind"] == int(DecisionKind.REVIEW))
    raise_all(_of_other_users(held["decision_id"], given, "line_id", used), where="lines")
    state = np.where(granted, int(LineState.ACTIVE), int(LineState.FROZEN))
    day = _days(decisions.column("booked_at"), time_zone)
    order = np.lexsort((held["decision_id"], held["booked_at"], day, given["line_id"]))
    order = order[used[order]]
    key = np.column_stack([given["line_id"], day])[order]
    last = np.append((key[1:] != key[:-1]).any(axis=1), True)[: len(order)]
    kept = order[last]
    return make(
        "lines", line_id=given["line_id"][kept], effective_on=day[kept].astype(np.int32),
        booked_at=held["booked_at"][kept], product=given["product"][kept],
        limit_minor=np.where(granted, held["line_minor"], 0)[kept],
        rate_ppm=np.where(granted, held["rate_ppm"], 0)[kept], state=state[kept],
    )  # fmt: skip


def request_rows(
    decisions: pa.Table, *, loan_id: Any, product: Any, amount_minor: Any, months: Any,
    rate_ppm: Any, region: Any, channel: Any,
) -> pa.Table:  # fmt: skip
    """The table `requests` of the drawdowns that were approved, in the order the router meets them.

    Columns have one value for each decision. The price is the line's, which a drawdown does not
    decide anew.
    """
    held = arrays(decisions)
    given = _whole(
        {"loan_id": loan_id, "product": product, "amount_minor": amount_minor, "months": months,
         "rate_ppm": rate_ppm, "region": region, "channel": channel},
        len(held["decision_id"]),
    )  # fmt: skip
    used = (held["approved"] == 1) & (held["kind"] == int(DecisionKind.DRAWDOWN))
    problems = _of_other_users(held["decision_id"], given, "loan_id", used)
    for name in ("amount_minor", "months", "rate_ppm"):
        least = 0 if name == "rate_ppm" else 1
        problems += _below(given, name, used, least)
    raise_all(problems, where="requests")
    columns = {name: values[used] for name, values in given.items()}
    columns |= {name: held[name][used] for name in ("decision_id", "grade")}
    return sort(
        make("requests", requested_at=held["booked_at"][used], **columns), table("requests")
    )


def write_decision_tables(book: Book, **tables: pa.Table) -> None:
    """Add `decisions`, `lines` and `requests` to a book in one step, by month and shard."""
    if wrong := sorted(tables.keys() - _ID_COLUMNS.keys()):
        fix = f"Give {', '.join(_ID_COLUMNS)}"
        raise DecisionTableError(
            f"{wrong[0]} is no table of decisions", where=str(book.path), fix=fix
        )
    with book.writing() as step:
        for name, data in tables.items():
            for month, shard, part in _by_month_and_shard(name, data, book.manifest.time_zone):
                step.add(name, part, month=month, shard=shard)


def _by_month_and_shard(
    name: str, data: pa.Table, zone: str
) -> Iterator[tuple[int, int, pa.Table]]:
    """The parts of a table by month of booking and shard of the user."""
    day = _days(data.column(_MOMENT_COLUMNS[name]), zone)
    known, place = np.unique(day, return_inverse=True)
    month = np.array([to_month(from_day(int(each))) for each in known], np.int64)[place.ravel()]
    shard = arrays(data.select([_ID_COLUMNS[name]]))[_ID_COLUMNS[name]] // PER_USER >> SHARD_BITS
    for each, number in sorted({*zip(month.tolist(), shard.tolist(), strict=True)}):
        yield each, number, data.filter(pa.array((month == each) & (shard == number)))


def _days(moments: Any, zone: str) -> I64:
    """The business day of each moment."""
    local = pc.local_timestamp(pc.cast(moments, pa.timestamp("us", zone)))
    days = pc.cast(pc.cast(local, pa.date32()), pa.int32())
    return np.asarray(days.to_numpy()).astype(np.int64)


def _whole(columns: Mapping[str, Any], rows: int) -> dict[str, I64]:
    """Columns of that many whole numbers; a single one stands for all rows."""
    made: dict[str, I64] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind not in "iub" or array.shape not in ((), (rows,)):
            fix = f"Give one whole number, or {rows}"
            raise DecisionTableError(f"{name} is {array.dtype} {array.shape}", where=name, fix=fix)
        made[name] = np.broadcast_to(array.astype(np.int64), (rows,))
    return made


def _of_other_users(
    decision_id: I64, given: Mapping[str, I64], name: str, used: NDArray[np.bool_]
) -> list[UsanceError]:
    """Lines or loans that do not belong to the user who was decided about."""
    wrong = np.flatnonzero(used & (given[name] // PER_USER != decision_id // PER_USER))
    fix = f"Number a user's own: {name} = user_id × {PER_USER} + 1, 2, 3 …"
    return [
        DecisionTableError(
            f"{given[name][row]} is not of the user of {print_id('de', int(decision_id[row]))}",
            where=f"{name}, row {row + 1}",
            fix=fix,
        )
        for row in wrong[:20].tolist()
    ]


def _below(
    given: Mapping[str, I64], name: str, used: NDArray[np.bool_], least: int
) -> list[UsanceError]:
    wrong = np.flatnonzero(used & (given[name] < least))
    fix = f"Give {least} or more"
    return [
        DecisionTableError(
            f"{given[name][row]} is too small", where=f"{name}, row {row + 1}", fix=fix
        )
        for row in wrong[:20].tolist()
    ]
