"""Where a router stands after its last request, so that the next stream goes on from there.

`route(..., standing=before)` begins with the budgets used, the prices, what was learned of
approvals and of demand, and the plan number that an earlier call ended with: two calls, one after
the other, give what one call over both streams gives. Mandates may change in between: use is kept
by source and version, a version that is new begins untouched, and prices are made again at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.match.errors import StandingError
from usance.match.mandates.columns import MEASURES, MODELS
from usance.match.mandates.limits import list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.router.releases import Releases, releases_of

FORMAT = 1
# One value for each mandate, and what a mandate has that is new; it has not lent, asked or learned.
BY_MANDATE = {
    "used_total": 0, "used_month": 0, "used_day": 0, "asked": 0, "approved": 0, "placed": 0,
    "own_price": 0, "fixed_price": 0, "fixed_limit": 0, "tight": 0, "pace": -1, "step": 0,
    "spent": 0, "looked_asked": 0, "looked_approved": 0,
}  # fmt: skip
_RELEASE = ("day", "source", "principal_minor")


@dataclass(frozen=True)
class Standing:
    """Named arrays: by mandate, by limit on the mix, by borrower, and of the whole router."""

    arrays: dict[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    @property
    def plan_no(self) -> int:
        """The number of the plan in force."""
        return int(self["plan_no"])

    @property
    def requests(self) -> int:
        """How many requests were routed so far."""
        return int(self["seen"])

    def lent_minor(self) -> dict[tuple[int, int], int]:
        """By source and version: what it has out of its total budget."""
        keys = zip(self["source"].tolist(), self["version"].tolist(), strict=True)
        return dict(zip(keys, self["used_total"].tolist(), strict=True))


def write_standing(path: Path, standing: Standing) -> None:
    """Keep a standing in a file; the same standing gives the same bytes."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, format=np.array(FORMAT), **standing.arrays)


def read_standing(path: Path) -> Standing:
    """A standing that was kept."""
    fix = "Give a file that write_standing made, or route from the beginning"
    try:
        with path.open("rb") as kept, np.load(kept, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, AttributeError, BadZipFile):
        raise StandingError("no standing of a router", where=str(path), fix=fix) from None
    if int(arrays.pop("format", np.array(0))) != FORMAT:
        raise StandingError("a standing of another version", where=str(path), fix=fix)
    return Standing(arrays)


def identity(mandates: Mandates) -> dict[str, NDArray[Any]]:
    """Which mandates a standing is about: their keys, their limits on the mix, and all terms."""
    rows = mandates.mandates
    mix = [
        (each.source, each.version, MEASURES.index(limit.measure), limit.member, limit.bound_ppm)
        for each in rows
        for limit in each.mix
    ]
    terms = [limit.text for limit in list_limits(mandates)]
    terms += [
        f"{e.source} {e.version} {e.valid_from} {e.valid_to} {e.model} {e.coupon_ppm} {e.fee_ppm} "
        f"{e.co_share_ppm} {e.approval_ppm}"
        for e in rows
    ]
    return {
        "source": np.array([each.source for each in rows], np.int64),
        "version": np.array([each.version for each in rows], np.int64),
        "model": np.array([int(each.model) for each in rows], np.int64),
        "mix_key": np.array(mix, np.int64).reshape(len(mix), 5),
        "terms": np.array(blake2b("\n".join(terms).encode(), digest_size=16).hexdigest()),
    }


def fitted(standing: Standing, mandates: Mandates) -> Standing:
    """The same standing for other mandates: each finds its own again, by source and version."""
    now = identity(mandates)
    if str(now["terms"]) == str(standing["terms"]):
        return standing
    arrays = {name: each for name, each in standing.arrays.items() if not name.startswith("plan_")}
    arrays["plan_no"] = standing["plan_no"]
    before = _keys(standing["source"], standing["version"])
    after = _keys(now["source"], now["version"])
    place = np.array([before.get(key, -1) for key in after], np.int64)
    stated = np.array([each.approval_ppm for each in mandates.mandates], np.int64)
    fresh: dict[str, Any] = {**BY_MANDATE, "rate": stated, "stated": stated}
    for name, new in fresh.items():
        arrays[name] = np.where(place >= 0, standing[name][place], new)
    mix = {tuple(key): row for row, key in enumerate(standing["mix_key"].tolist())}
    rows = np.array([mix.get(tuple(key), -1) for key in now["mix_key"].tolist()], np.int64)
    for name in ("mix_state", "mix_price"):
        arrays[name] = _picked(standing[name], rows)
    moved = np.full(len(before), -1, np.int64)
    moved[place[place >= 0]] = np.flatnonzero(place >= 0)
    for column, others in _BY_COLUMN.items():
        kept = moved[standing[column]] >= 0
        arrays |= {name: standing[name][..., kept] for name in others}
        arrays[column] = moved[standing[column]][kept]
    gone = np.where(moved < 0, standing["placed"], 0)
    arrays["gone_placed"] = standing["gone_placed"] + by_model(gone, standing["model"])
    return Standing({**arrays, **now})


def by_model(placed: I64, model: I64) -> I64:
    """Amounts of mandates, summed by model."""
    sums = np.zeros(MODELS, np.int64)
    np.add.at(sums, model, placed)
    return sums


def waiting(standing: Standing, more: Releases) -> Releases:
    """Releases that no request has met yet, with those that are new."""
    return releases_of(**{
        name: np.concatenate([standing[f"waiting_{name}"], getattr(more, name)])
        for name in _RELEASE
    })  # fmt: skip


def still_waiting(releases: Releases, returned: int) -> dict[str, I64]:
    """The rows of releases from a position on."""
    return {f"waiting_{name}": getattr(releases, name)[returned:].copy() for name in _RELEASE}


# Arrays that name a column, and those that go with them.
_BY_COLUMN = {
    "borrowed_from": ("borrower", "borrowed"),
    "told_source": ("told_grade", "told_outcome", "told_day", "told_times"),
}


def _keys(source: I64, version: I64) -> dict[tuple[int, int], int]:
    pairs = zip(source.tolist(), version.tolist(), strict=True)
    return {pair: place for place, pair in enumerate(pairs)}


def _picked(values: I64, rows: I64) -> I64:
    return np.array([values[row] if row >= 0 else 0 for row in rows], np.int64)
