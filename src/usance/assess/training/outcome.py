"""The outcome of each training row: 1 is bad, 0 is good, and there must be enough of both."""

from __future__ import annotations

import numpy as np

from usance.assess.errors import DataError
from usance.assess.table import Table, numbers_and_texts
from usance.base.arrays import F64

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
        what = f"row {wrong[0] + 1} is {said_here}{more}"
        raise DataError(what, where=where, fix="Write 1 for bad and 0 for good in every row")
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
