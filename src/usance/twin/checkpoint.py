"""A shard, and what the driver remembers, as bytes that a run goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import in_threads
from usance.base.packed import pack, unpack
from usance.loan.kernel.fold import SLOTS
from usance.twin.dues import DueSums
from usance.twin.fact_rows import FactRows
from usance.twin.open_loans import NO_WATCH, OpenLoans
from usance.twin.shard import Pending, Shard
from usance.twin.users import Users
from usance.twin.weave_kernel import NARROW, narrow_rows, widen_rows

Arrays = dict[str, NDArray[Any]]


def shard_bytes(shard: Shard) -> bytes:
    """A shard at the end of a month."""
    arrays: Arrays = {"about": np.array([shard.number, shard.users.first], np.int64)}
    arrays |= {f"users.{name}": values for name, values in shard.users.columns.items()}
    arrays |= _of_loans("loans", shard.loans)
    arrays |= _of_loans("pending", shard.pending.loans)
    arrays |= _of_facts("known", shard.pending.known)
    arrays |= _of_facts("late", shard.pending.late)
    return pack({**arrays, "pending_dues": shard.pending.dues})


def shard_of(content: bytes) -> Shard:
    """The shard that was kept."""
    arrays = unpack(content)
    number, first = (int(each) for each in arrays["about"])
    pending = Pending(
        _loans(arrays, "pending"), _facts(arrays, "known"), _facts(arrays, "late"),
        arrays["pending_dues"],
    )  # fmt: skip
    users = Users(first, _named(arrays, "users"))
    return Shard(number, users, _loans(arrays, "loans"), pending)


def dues_bytes(dues: DueSums) -> Arrays:
    """The sums of dues as arrays."""
    kept = {f"sure.{month}": sums for month, sums in dues.sure.items()}
    return {"cells": np.array([dues.cells]), **kept}


def dues_of(arrays: Arrays) -> DueSums:
    """The sums of dues that were kept."""
    sure = {int(name): sums for name, sums in _named(arrays, "sure").items()}
    return DueSums(int(arrays["cells"][0]), sure)


def _of_loans(name: str, loans: OpenLoans) -> Arrays:
    columns = {f"{name}.{column}": values for column, values in loans.columns.items()}
    watched = np.flatnonzero((loans.watches != NO_WATCH).any(axis=1))
    return {
        **columns, **{f"{name}_states.{n}": slot for n, slot in enumerate(_narrow(loans.states))},
        f"{name}_watched": watched, f"{name}_watches": loans.watches[watched],
    }  # fmt: skip


def _loans(arrays: Arrays, name: str) -> OpenLoans:
    columns = _named(arrays, name)
    states = _wide(list(_named(arrays, f"{name}_states").values()))
    watches = np.tile(NO_WATCH, (len(states), 1))
    watches[arrays[f"{name}_watched"]] = arrays[f"{name}_watches"]
    return OpenLoans(columns, states, watches)


def _narrow(states: NDArray[np.int64]) -> NDArray[Any]:
    """States column by column, of half the width if all fit: a quarter of the work to pack."""
    found = np.empty((NARROW, len(states)), np.int32)
    fits = in_threads(lambda a, b: narrow_rows(a, b, states, found), len(states))
    return found if all(fits) else states.T


def _wide(kept: list[NDArray[Any]]) -> NDArray[np.int64]:
    if len(kept) == SLOTS:
        return np.ascontiguousarray(np.stack(kept, axis=1))
    narrow = np.stack(kept)
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
