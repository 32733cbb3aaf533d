"""Amounts as files write them: separators of thousands and decimals, and signs of currencies.

Groups have three digits each and the first one to three, so that a point is never taken for a
separator of thousands where it parts cents.

>>> plain_amount("1.234,56", "1.234,56"), plain_amount("-€ 1234,5", "1.234,56")
('1234.56', '-1234.5')
>>> plain_amount("3000.00", "1.234,56") is None
True
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

AMOUNTS = {"1234.56": ("", "."), "1,234.56": (",", "."), "1234,56": ("", ","),
           "1.234,56": (".", ","), "1 234,56": (" ", ",")}  # fmt: skip
"""Formats of amounts: the separators of thousands and of decimals."""
PLAIN = "1234.56"
"""The format that needs no reading; what it is, is checked where it becomes a number."""
_SIGN = "^([+-]?)[$€£¥] ?"
"""Signs of currencies that may stand before an amount in one of the other formats."""


def amount_fix(notation: str) -> str:
    """The advice for a cell in another format."""
    return f"Write it as {notation}, or change amounts in the mapping"


def plain_amount(cell: str, notation: str) -> str | None:
    """An amount with a point and no groups; None if it is not written in the format."""
    if notation == PLAIN:
        return cell
    thousands, decimal = AMOUNTS[notation]
    bare = re.sub(_SIGN, r"\1", cell.strip())
    if not re.search(_form(notation), bare):
        return None
    return (bare.replace(thousands, "") if thousands else bare).replace(decimal, ".")


def plain_amounts(column: Any, notation: str) -> tuple[Any, Any]:
    """Cells with a point and no groups, null where they have none; and which are no amounts.

    A column of numbers is plain in any format.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column.cast(pa.string())
    if notation == PLAIN or not _is_text(column.type):
        return text, pc.and_(pc.is_null(text), pc.is_valid(text))
    thousands, decimal = AMOUNTS[notation]
    cells = pc.utf8_trim_whitespace(text)
    bare = pc.replace_substring_regex(cells, _SIGN, r"\1")
    fits = pc.match_substring_regex(bare, _form(notation))
    plain = pc.replace_substring(bare, thousands, "") if thousands else bare
    plain = pc.replace_substring(plain, decimal, ".")
    wrong = pc.fill_null(pc.and_(pc.not_equal(cells, ""), pc.invert(fits)), False)
    return pc.if_else(fits, plain, pa.scalar(None, pa.string())), wrong


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    values = type_.value_type if types.is_dictionary(type_) else type_
    return bool(types.is_string(values) or types.is_large_string(values))


@cache
def _form(notation: str) -> str:
    thousands, decimal = AMOUNTS[notation]
    groups = rf"[0-9]{{1,3}}({re.escape(thousands)}[0-9]{{3}})+|" if thousands else ""
    return rf"^[+-]?({groups}[0-9]+)({re.escape(decimal)}[0-9]+)?$"
