"""The recipe of a training run: the columns by role, and nothing about how to fit.

>>> Recipe("target", trends=read_trends("age:-,utilisation:+")).trends
{'age': -1, 'utilisation': 1}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from usance.assess.errors import DataError
from usance.assess.table import Table, no_column
from usance.base.errors import raise_all

_SIGNS = {"+": 1, "-": -1}


@dataclass(frozen=True)
class Recipe:
    """The arguments of `usance assess train`; a model keeps them, so it can be trained again."""

    target: str
    identity: str = ""
    time: str = ""
    excluded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    trends: Mapping[str, int] = field(default_factory=dict)
    only: str = ""
    pdo: int = 20
    seed: int = 1

    @property
    def not_inputs(self) -> set[str]:
        """Columns that have another role than to be an input."""
        roles = {self.target, self.identity, self.time, self.only.partition("=")[0]}
        return {*roles, *self.excluded, *self.groups}

    @classmethod
    def from_dict(cls, read: Mapping[str, Any]) -> Recipe:
        """The recipe of a model file."""
        lists = {name: tuple(read[name]) for name in ("excluded", "kept", "groups")}
        return cls(**{**read, **lists})


def read_trends(text: str) -> dict[str, int]:
    """Declared directions of risk, written as `column:+` or `column:-`, with commas between."""
    trends = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, sign = part.rpartition(":")
        if not name or sign not in _SIGNS:
            fix = "Write column:+ where risk rises with the column and column:- where it falls"
            raise DataError(f"'{part}' declares no direction", where="--monotone", fix=fix)
        trends[name] = _SIGNS[sign]
    return trends


def chosen_rows(table: Table, recipe: Recipe) -> Table:
    """The rows the recipe trains on, after a check that every column it names is there."""
    named = [recipe.target, recipe.identity, recipe.time, *recipe.excluded, *recipe.kept]
    named += [*recipe.groups, *recipe.trends]
    raise_all(
        [no_column(table, name) for name in named if name and name not in table.columns],
        where=table.file,
    )
    return rows_where(table, recipe.only)


def rows_where(table: Table, only: str) -> Table:
    """The rows with `column=value`; all of them if nothing is asked."""
    import numpy as np

    if not only:
        return table
    name, _, value = only.partition("=")
    mask = np.array([str(cell) == value for cell in table.column(name).to_pylist()])
    if not mask.any():
        fix = "Give column=value with a value that occurs"
        raise DataError(f"no row has {only}", where=table.file, fix=fix)
    return table.where(mask)
