"""The cells of a tape: `cells.csv` in a folder of policies, or one for every kind of loan found.

    cell,model,product,source,entity,related,fund_cash,payout_cash
    1,capital_heavy,instalment,1,1,0,cash,restricted_cash

Entity, related party and accounts may be left out: the platform, no, and cash.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.codes import Code, FundingModel, Product, parse
from usance.base.columns import arrays, make
from usance.base.documents import read_text
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.segments import cell_key, cell_parts
from usance.books.chart import load_chart
from usance.books.errors import TapeError

NAME = "cells.csv"
_NEEDED = ("cell", "model", "product", "source")
_MAX = 2**15 - 1


def read_cells_file(folder: Path | None, platform: int) -> pa.Table | None:
    """The cells that a folder of policies declares, if it does."""
    if folder is None or not (folder / NAME).exists():
        return None
    rows = list(csv.DictReader(StringIO(read_text(folder / NAME))))
    problems: list[UsanceError] = []
    columns: dict[str, list[int]] = {name: [] for name in _readers(platform)}
    for line, row in enumerate(rows, start=2):
        for name, (read, default) in _readers(platform).items():
            where = f"{NAME} line {line}, {name}"
            try:
                columns[name].append(_read(row.get(name), read, default, where))
            except UsanceError as error:
                problems.append(error)
    if not rows:
        fix = f"Give a header with {', '.join(_NEEDED)} and a line for each cell"
        problems.append(TapeError("has no cells", where=NAME, fix=fix))
    raise_all(problems, where=NAME)
    order = np.argsort(columns["cell"], kind="stable")
    return make("cells", **{name: np.array(each)[order] for name, each in columns.items()})


_Reader = tuple[Callable[[str, str], int], int | None]


def _readers(platform: int) -> dict[str, _Reader]:
    """By column, the function that reads its cells, and the default of an empty one."""
    return {
        "cell": (_number, None),
        "model": (lambda text, where: _code(FundingModel, text, where), None),
        "product": (lambda text, where: _code(Product, text, where), None),
        "source": (_number, None),
        "entity": (_number, platform),
        "related": (_number, 0),
        "fund_cash": (_account, 0),
        "payout_cash": (_account, 0),
    }


def _read(
    given: str | None, read: Callable[[str, str], int], default: int | None, where: str
) -> int:
    text = (given or "").strip()
    if text:
        return read(text, where)
    if default is None:
        raise TapeError("is missing", where=where, fix="Fill it")
    return default


def _number(text: str, where: str) -> int:
    if not text.isdigit() or int(text) > _MAX:
        raise TapeError(f"{text!r} is no number", where=where, fix=f"Give 0 to {_MAX}")
    return int(text)


def _code(codes: type[Code], text: str, where: str) -> int:
    return int(parse(codes, text, where=where))


def _account(text: str, where: str) -> int:
    names = {account.name: account.number for account in load_chart() if account.is_cash}
    if text not in names:
        raise unknown("account of cash", text, names, where=where)
    return names[text]


def cells_for(columns: Mapping[str, NDArray[Any]], known: pa.Table, platform: int) -> pa.Table:
    """The cells known, with one more for every other model, product and source of a tape."""
    held = arrays(known)
    wanted, there = (cell_key(*(each[name] for name in _NEEDED[1:])) for each in (columns, held))
    new = np.setdiff1d(wanted, there)
    if not len(new):
        return known
    first = int(held["cell"].max(initial=0)) + 1
    model, product, source = cell_parts(new)
    more = make(
        "cells", cell=np.arange(first, first + len(new)), model=model,
        product=product, source=source, entity=np.full(len(new), platform),
    )  # fmt: skip
    return pa.concat_tables([known, more])
