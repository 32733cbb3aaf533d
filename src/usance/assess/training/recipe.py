"""The recipe of a training run: the role of each column.

>>> Recipe("target", trends=read_trends("age:-,utilisation:+")).trends
{'age': -1, 'utilisation': 1}

Of the outcomes of its rows 1 is bad, 0 is good, and there must be enough of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from usance.assess.applicant_file import Table, no_column, numbers_and_texts
from usance.assess.errors import DataError
from usance.base.arrays import F64
from usance.base.column_files import ColumnNames
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

    def in_our_names(self, names: ColumnNames) -> Recipe:
        """The same recipe, where it names columns as their file does.

        >>> names = ColumnNames({"income": "Einkommen"})
        >>> Recipe("target", excluded=("Einkommen", "age")).in_our_names(names).excluded
        ('income', 'age')
        """
        ours = {theirs: name for name, theirs in names.columns.items()}

        def own(column: str) -> str:
            return ours.get(column, column)

        column, equals, value = self.only.partition("=")
        return replace(
            self, target=own(self.target), identity=own(self.identity), time=own(self.time),
            excluded=tuple(map(own, self.excluded)), kept=tuple(map(own, self.kept)),
            groups=tuple(map(own, self.groups)), only=f"{own(column)}{equals}{value}",
            trends={own(each): sign for each, sign in self.trends.items()},
        )  # fmt: skip

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
    if not only:
        return table
    name, _, value = only.partition("=")
    mask = np.array([str(cell) == value for cell in table.column(name).to_pylist()])
    if not mask.any():
        fix = "Give column=value with a value that occurs"
        raise DataError(f"no row has {only}", where=table.file, fix=fix)
    return table.where(mask)


MIN_OF_A_CLASS = 30  # fewer leave nothing for five folds to learn from

_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "bad": 1.0, "good": 0.0}


def outcomes(table: Table, name: str, *, least: int = 0) -> F64:
    """The target column as 0 and 1."""
    bad, texts = numbers_and_texts(table.column(name))
    where = f"{table.file}: column '{name}'"
    words = [None if text is None else str(text).lower() for text in texts.to_pylist()]
    if any(words):
        said = [
            _WORDS.get(word, np.nan) if word else value
            for word, value in zip(words, bad, strict=True)
        ]
        bad = np.array(said)
    wrong = np.flatnonzero(~np.isin(bad, (0.0, 1.0)))
    if len(wrong):
        cell = table.column(name)[int(wrong[0])].as_py()
        said_here = "empty" if cell is None else f"'{cell}'"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        fix = "Write 1 for bad and 0 for good in every row, or say your words in a mapping (--map)"
        place = f"{table.place(int(wrong[0]))}, column '{name}'"
        raise DataError(f"is {said_here}{more}, no outcome", where=place, fix=fix)
    bads = int(bad.sum())
    if bads in (0, len(bad)):
        only = "good" if bads == 0 else "bad"
        fix = "Give rows of both outcomes"
        raise DataError(f"every row is {only}", where=where, fix=fix)
    if min(bads, len(bad) - bads) < least:
        what = f"{bads} bads and {len(bad) - bads} goods"
        raise DataError(what, where=where, fix=f"Give at least {least} of each")
    return bad


def check_ids(table: Table, name: str) -> None:
    """Refuse a file in which an id stands twice: rows of one applicant would test each other."""
    array = table.column(name)
    counted = array.value_counts().to_pylist()
    twice = sorted(str(pair["values"]) for pair in counted if pair["counts"] > 1)
    if twice:
        what = f"{len(twice)} ids stand in more than one row, the first is '{twice[0]}'"
        fix = "Keep one row for each id"
        raise DataError(what, where=f"{table.file}: column '{name}'", fix=fix)
