"""A scorecard: for each variable a few bins, for each bin whole points, and a sum.

Every bin of a variable is in one list: the ranges of a number, then its special codes; the groups
of a category, then any other level; and missing as the last. The score is the base points and the
points of one bin of each variable, so a sheet of paper, a SQL query and a column of a million
applicants add the same integers.

>>> Scale().pd(600).round(4).tolist()  # fifty goods to one bad
0.0196
>>> Scale().pd(580).round(4).tolist()  # twenty points double the odds
0.0385

As one SQL query it serves a warehouse that holds the applicants. A number column may hold its
special codes as text, so it is read with `TRY_CAST`; cells are compared as double precision, like
everywhere here. What is no number where one is due, an infinite one too, gives no score: `NULL`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from io import StringIO
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from usance.assess.applicant_file import BLANK_CHARACTERS, EMPTY_WORDS, NUMBER, is_number
from usance.assess.columns import Column
from usance.base.arrays import F64, I64

CSV_HEADER = ("variable", "bin", "rows", "bads", "bad_rate", "woe", "points")


@dataclass(frozen=True)
class Scale:
    """The scale of a score: `score` points at `odds` goods to one bad, twice that `pdo` higher."""

    pdo: int = 20
    score: int = 600
    odds: int = 50

    @property
    def factor(self) -> float:
        """Points for one unit of log odds."""
        return self.pdo / log(2)

    @property
    def offset(self) -> float:
        """The score of even odds."""
        return self.score - self.factor * log(self.odds)

    def log_odds(self, score: Any) -> Any:
        """The log odds of bad that a score stands for."""
        return (self.offset - np.asarray(score, np.float64)) / self.factor

    def pd(self, score: Any) -> Any:
        """The probability of bad that a score stands for."""
        return sigmoid(self.log_odds(score))

    def points(self, log_odds: Any) -> Any:
        """The whole score nearest to some log odds of bad."""
        exact = self.offset - self.factor * np.asarray(log_odds, np.float64)
        return np.clip(np.rint(exact), -32768, 32767).astype(np.int64)


def sigmoid(log_odds: Any) -> Any:
    """Log odds as a probability."""
    return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))


@dataclass(frozen=True)
class Bin:
    """One line of the card."""

    label: str
    rows: int
    bads: int
    woe: float
    points: int = 0


@dataclass(frozen=True)
class Variable:
    """The bins of one column; `at` is its place among the model's inputs."""

    at: int
    name: str
    cuts: tuple[float, ...]
    groups: tuple[int, ...]
    bins: tuple[Bin, ...]

    def index(self, column: Column, values: F64) -> I64:
        """The bin of each encoded value."""
        last = len(self.bins) - 1
        if column.kind == "category":
            codes = np.nan_to_num(values, nan=-1.0).astype(np.int64)
            found = self._places[codes]
        else:
            found = np.searchsorted(self._edges, values, side="right").astype(np.int64)
            for place, (_, code) in enumerate(column.specials):
                found[values == code] = len(self.cuts) + 1 + place
        found[np.isnan(values)] = last
        return found

    # A single score asks for these at every call, so they are made once.
    @cached_property
    def _places(self) -> I64:
        """The bin of each level; the last place is that of a level training never saw."""
        return np.asarray((*self.groups, len(self.bins) - 2), np.int64)

    @cached_property
    def _edges(self) -> F64:
        return np.asarray(self.cuts, np.float64)

    @cached_property
    def points(self) -> I64:
        """The points of each bin."""
        return np.array([one.points for one in self.bins], np.int64)

    @cached_property
    def mean_points(self) -> float:
        """The points an average applicant of the training rows has here."""
        rows = sum(each.rows for each in self.bins)
        return sum(each.points * each.rows for each in self.bins) / rows

    @property
    def information(self) -> float:
        """The information value: how far goods and bads lie apart over the bins."""
        goods = np.array([each.rows - each.bads for each in self.bins], np.float64)
        bads = np.array([each.bads for each in self.bins], np.float64)
        woe = np.array([each.woe for each in self.bins])
        return float(((goods / goods.sum() - bads / bads.sum()) * woe).sum())


@dataclass(frozen=True)
class Scorecard:
    """Base points and the variables."""

    base: int
    variables: tuple[Variable, ...]

    def points(self, columns: Sequence[Column], inputs: F64) -> I64:
        """The points of each variable, a row for each applicant."""
        table = np.empty((len(inputs), len(self.variables)), np.int64)
        for place, each in enumerate(self.variables):
            table[:, place] = each.points[each.index(columns[each.at], inputs[:, each.at])]
        return table

    def as_dict(self) -> dict[str, Any]:
        """The card as a model file holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, read: Mapping[str, Any]) -> Scorecard:
        """The card of a model file."""
        variables = tuple(
            Variable(
                each["at"], each["name"], tuple(each["cuts"]), tuple(each["groups"]),
                tuple(Bin(**one) for one in each["bins"]),
            )
            for each in read["variables"]
        )  # fmt: skip
        return cls(read["base"], variables)


def bin_labels(column: Column, cuts: Sequence[float], groups: Sequence[int]) -> list[str]:
    """The labels of a variable's bins, in their order."""
    if column.kind == "category":
        members: list[list[str]] = [[] for _ in range(max(groups, default=-1) + 1)]
        for level, group in zip(column.levels, groups, strict=True):
            members[group].append(level)
        return [*(", ".join(each) for each in members), "any other", "missing"]
    edges = [f"{each:.15g}" for each in cuts]
    ranges = [f"{low} to below {high}" for low, high in pairwise(edges)]
    if edges:
        ranges = [f"below {edges[0]}", *ranges, f"{edges[-1]} and above"]
    codes = [f"code {label}" for label, _ in column.specials]
    return [*(ranges or ["any number"]), *codes, "missing"]


def scorecard_csv(card: Scorecard) -> str:
    """The scorecard on paper: one line for the base points and one for each bin."""
    sheet = StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    writer.writerow(["(base)", "every applicant", "", "", "", "", card.base])
    for variable in card.variables:
        for each in variable.bins:
            rate = f"{each.bads / each.rows:.4f}" if each.rows else ""
            row = [each.label, each.rows, each.bads, rate, f"{each.woe:.4f}", each.points]
            writer.writerow([variable.name, *row])
    return sheet.getvalue()


_BLANKS = "E'" + BLANK_CHARACTERS.encode("unicode_escape").decode() + "'"


def scorecard_sql(columns: tuple[Column, ...], card: Scorecard) -> str:
    """A query over a table `applicants` with a column `score`; it runs in DuckDB as it is."""
    terms = [str(card.base), *(_case(columns[each.at], each) for each in card.variables)]
    total = "\n  + ".join(terms)
    return f"SELECT *,\n  {total} AS score\nFROM applicants\n"


def _case(column: Column, variable: Variable) -> str:
    lines = "\n".join(f"    {line}" for line in _lines(column, variable))
    return f"CASE  -- {' '.join(variable.name.split())}\n{lines}\n    END"


def _lines(column: Column, variable: Variable) -> Iterator[str]:
    points = [each.points for each in variable.bins]
    cell = f"trim(CAST({_name(column.name)} AS VARCHAR), {_BLANKS})"
    empty = ", ".join(_text(each) for each in EMPTY_WORDS)
    yield f"WHEN {cell} IS NULL OR {cell} IN ({empty}) THEN {points[-1]}"
    if column.kind == "category":
        for level, group in zip(column.levels, variable.groups, strict=True):
            yield f"WHEN {cell} = {_text(level)} THEN {points[group]}"
        yield f"ELSE {points[-2]}"
        return
    number = f"TRY_CAST({_name(column.name)} AS DOUBLE)"
    ranges = len(variable.cuts) + 1
    codes = list(zip(column.specials, points[ranges:], strict=False))
    for (label, _), worth in codes:
        if not is_number(label):
            yield f"WHEN {cell} = {_text(label)} THEN {worth}"
    # DuckDB casts more than is a number here, such as 1_000 and inf.
    plain = f"regexp_full_match({cell}, {_text(f'{NUMBER}|true|false')})"
    yield f"WHEN NOT {plain} OR isinf({number}) THEN NULL"
    for (label, code), worth in codes:
        if is_number(label):
            yield f"WHEN {number} = {_double(code)} THEN {worth}"
    for cut, worth in zip(variable.cuts, points, strict=False):
        yield f"WHEN {number} < {_double(cut)} THEN {worth}"
    yield f"WHEN {number} IS NOT NULL THEN {points[ranges - 1]}"


def _double(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
