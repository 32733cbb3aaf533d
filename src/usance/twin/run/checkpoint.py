"""A shard, and what the driver remembers, as bytes that a run goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.array_bytes import pack, unpack
from usance.base.compiled import in_threads
from usance.loan.kernel.state import BALANCE, COVERED, FEES, INTEREST_BEFORE, SLOTS
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.merge_facts_kernel import NARROW, narrow_rows, widen_rows
from usance.twin.month.open_loans import NO_WATCH, OpenLoans
from usance.twin.month.shard import Pending, Shard
from usance.twin.month.special_loans import SpecialLoans
from usance.twin.month.users import Users

Arrays = dict[str, NDArray[Any]]


def shard_bytes(shard: Shard) -> bytes:
    """A shard at the end of a month."""
    arrays: Arrays = {"about": np.array([shard.number, shard.users.first], np.int64)}
    arrays |= _of_users(shard.users)
    arrays |= _of_loans("loans", shard.loans)
    arrays |= _of_loans("pending", shard.pending.loans)
    arrays |= _of_facts("known", shard.pending.known)
    arrays |= _of_facts("late", shard.pending.late)
    if len(shard.special):
        arrays |= _of_special(shard.special)
    return pack({**arrays, "pending_dues": shard.pending.dues})


def shard_of(content: bytes) -> Shard:
    """The shard that was kept."""
    arrays = unpack(content)
    number, first = (int(each) for each in arrays["about"])
    pending = Pending(
        _loans(arrays, "pending"), _facts(arrays, "known"), _facts(arrays, "late"),
        arrays["pending_dues"],
    )  # fmt: skip
    special = _special(arrays) if _ROWS in arrays else SpecialLoans.none()
    return Shard(number, _users(first, arrays), _loans(arrays, "loans"), pending, special)


_ROWS = "special_rows"


def _of_special(special: SpecialLoans) -> Arrays:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, special.rows.schema) as stream:
        stream.write_table(special.rows)
    return {
        **_of_loans("special", special.loans), **_of_facts("happened", special.facts),
        _ROWS: np.frombuffer(sink.getvalue(), np.uint8),
    }  # fmt: skip


def _special(arrays: Arrays) -> SpecialLoans:
    rows = pa.ipc.open_stream(arrays[_ROWS].tobytes()).read_all()
    return SpecialLoans(_loans(arrays, "special"), rows, _facts(arrays, "happened"))


def _of_users(users: Users) -> Arrays:
    """Most users have only registered: the others are kept, and who they are."""
    active = users.active()
    rows = np.flatnonzero(active)
    columns = {f"users.{name}": values.take(rows) for name, values in users.columns.items()}
    return {"registered": np.array([len(users)]), "active": np.packbits(active), **columns}


def _users(first: int, arrays: Arrays) -> Users:
    count = int(arrays["registered"][0])
    active = np.unpackbits(arrays["active"], count=count).astype(np.bool_)
    return Users.of_active(first, active, _named(arrays, "users"))


def dues_bytes(dues: DueSums) -> Arrays:
    """The sums of dues as arrays."""
    kept = {f"sure.{month}": sums for month, sums in dues.final.items()}
    return {"cells": np.array([dues.cells]), **kept}


def dues_of(arrays: Arrays) -> DueSums:
    """The sums of dues that were kept."""
    final = {int(name): sums for name, sums in _named(arrays, "sure").items()}
    return DueSums(int(arrays["cells"][0]), final)


def _of_loans(name: str, loans: OpenLoans) -> Arrays:
    columns = {f"{name}.{column}": values for column, values in loans.columns.items()}
    columns[f"{name}.owed_minor"] = _beyond_plan(loans)
    watched = np.flatnonzero((loans.watches != NO_WATCH).any(axis=1))
    return {
        **columns, **{f"{name}_states.{n}": slot for n, slot in enumerate(_narrow(loans))},
        f"{name}_watched": watched, f"{name}_watches": loans.watches[watched],
    }  # fmt: skip


def _loans(arrays: Arrays, name: str) -> OpenLoans:
    columns = _named(arrays, name)
    states = _wide(list(_named(arrays, f"{name}_states").values()), columns["principal_minor"])
    watches = np.tile(NO_WATCH, (len(states), 1))
    watches[arrays[f"{name}_watched"]] = arrays[f"{name}_watches"]
    loans = OpenLoans(columns, states, watches)
    columns["owed_minor"] = _beyond_plan(loans)
    return loans


def _beyond_plan(loans: OpenLoans) -> NDArray[Any]:
    """Principal outstanding less owed, nearly always 0; the same function undoes it."""
    left = loans["principal_minor"] - loans.states[:, COVERED]
    return np.asarray(left - loans["owed_minor"])


def _narrow(loans: OpenLoans) -> NDArray[Any]:
    """States column by column, of half the width if all fit: a quarter of the work to pack."""
    states = loans.states
    found = np.empty((NARROW, len(states)), np.int32)
    fits = in_threads(lambda a, b: narrow_rows(a, b, states, found), len(states))
    if not all(fits):
        return states.T
    _turn(found, loans["principal_minor"])
    return found


def _turn(slots: NDArray[np.int32], principal: NDArray[Any]) -> None:
    """Replace sums of whole instalments by all paid less those, mostly 0; twice undoes it."""
    slots[BALANCE] = principal.astype(np.int32) - slots[COVERED] - slots[BALANCE]
    slots[INTEREST_BEFORE] = slots[COVERED + 1] - slots[INTEREST_BEFORE]
    slots[FEES] = slots[COVERED + 2] + slots[COVERED + 3] - slots[FEES]


def _wide(kept: list[NDArray[Any]], principal: NDArray[Any]) -> NDArray[np.int64]:
    if len(kept) == SLOTS:
        return np.ascontiguousarray(np.stack(kept, axis=1))
    narrow = np.stack(kept)
    _turn(narrow, principal)
    states = np.empty((narrow.shape[1], SLOTS), np.int64)
    in_threads(lambda a, b: widen_rows(a, b, narrow, states), len(states))
    return states


def _of_facts(name: str, facts: FactRows) -> Arrays:
    return {f"{name}.{column}": values for column, values in facts._asdict().items()}


def _facts(arrays: Arrays, name: str) -> FactRows:
    return FactRows(**_named(arrays, name))


def _named(arrays: Arrays, group: str) -> Arrays:
    start = f"{group}."
    return {
        name.removeprefix(start): values
        for name, values in arrays.items()
        if name.startswith(start)
    }
