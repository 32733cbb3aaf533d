"""A declared value: its type, its range, its special codes and what each of them means.

Models and decision tables read numbers. A name becomes its position in the declared list, true
becomes 1, a whole number stays itself; a value that is not there becomes the code declared for
that, or an error. Nothing is guessed and nothing falls back to a default.

>>> from usance.base.documents import parse_yaml
>>> from usance.base.fields import Fields
>>> text = "{type: whole, from: 0, to: 99, special: {-1: no bureau file}, missing: -1}"
>>> overdue = read_declared("overdue", Fields(parse_yaml(text), str, []))
>>> overdue.coded(7), overdue.coded(None)
(7, -1)
>>> overdue.coded(120)
Traceback (most recent call last):
usance.assess.errors.WrongInput: overdue: 120 is too large. \
Give 0 to 99, or -1 (no bureau file).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import WrongInput
from usance.base.errors import DocumentError, unknown
from usance.base.fields import Fields, one_of, text, whole, whole_of
from usance.base.formula_types import EXACT


class ValueType(Enum):
    """The type of a declared value."""

    WHOLE = "whole"
    NAME = "name"
    TRUTH = "truth"
    REAL = "real"
    """Any number; only a model may read it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared value; `missing` is the code of one that is not there, None if it must be."""

    name: str
    type: ValueType
    lowest: int = -EXACT
    highest: int = EXACT
    names: tuple[str, ...] = ()
    special: Mapping[int, str] = field(default_factory=dict)
    missing: int | None = None
    meaning: str = ""
    parameter: str = ""
    """The dated parameter it has its value from, if nobody gives one."""

    def coded(self, given: object, where: str = "") -> int | float:
        """The given value as the number that is stored, or `WrongInput`."""
        is_whole = type(given) is int and self.type is ValueType.WHOLE
        if is_whole and self.lowest <= given <= self.highest:  # type: ignore[operator]
            return given  # type: ignore[return-value]
        place = where or self.name
        if given is None:
            if self.missing is None:
                fix = f"Give {self.name}; it is required and has no value for 'not there'"
                raise WrongInput(f"{self.name} is empty", where=place, fix=fix)
            return self.missing
        if self.type is ValueType.NAME:
            return self._position(given, place)
        if self.type is ValueType.TRUTH:
            if isinstance(given, bool):
                return int(given)
            raise WrongInput(f"{given!r} is neither true nor false", where=place, fix=_TRUTH)
        return self._number(given, place)

    def plain(self, code: float) -> Any:
        """A stored number as decision tables see it: a name, true or false, a whole number."""
        if self.type is ValueType.REAL:
            return code
        if self.type is ValueType.NAME:
            return self.names[int(code)]
        return bool(code) if self.type is ValueType.TRUTH else int(code)

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and highest code there can be, special ones included."""
        if self.type is ValueType.NAME:
            return 0, len(self.names) - 1
        codes = [self.lowest, self.highest, *self.special]
        return min(codes), max(codes)

    def _position(self, given: object, where: str) -> int:
        if isinstance(given, str) and given in self.names:
            return self.names.index(given)
        wrong = unknown(self.name, str(given), self.names)
        raise WrongInput(wrong.what, where=where, fix=wrong.fix)

    def _number(self, given: object, where: str) -> int | float:
        exact = isinstance(given, Decimal) and given == given.to_integral_value()
        if self.type is ValueType.WHOLE:
            if type(given) is not int and not exact:
                raise WrongInput(f"{given!r} is not a whole number", where=where, fix=self._fix)
        elif isinstance(given, bool) or not isinstance(given, int | float | Decimal):
            raise WrongInput(f"{given!r} is not a number", where=where, fix="Give a number")
        elif not _is_finite(given):
            raise WrongInput("is not finite", where=where, fix="Give a number")
        number = int(given) if self.type is ValueType.WHOLE else float(given)  # type: ignore[call-overload,arg-type]
        if number in self.special:
            return int(number)
        if not self.lowest <= number <= self.highest:
            size = "large" if number > self.highest else "small"
            raise WrongInput(f"{given} is too {size}", where=where, fix=self._fix)
        return number

    @property
    def _fix(self) -> str:
        codes = "".join(f", or {code} ({means})" for code, means in self.special.items())
        return f"Give {self.lowest} to {self.highest}{codes}"


_TRUTH = "Write true or false"


def _is_finite(number: Any) -> bool:
    try:
        return isfinite(number)
    except OverflowError:  # a whole number beyond what a float can hold
        return False


def out_of_range(declared: Declared, codes: NDArray[Any], where: str) -> list[WrongInput]:
    """The error for a column of codes with one that is not declared; NaN never is."""
    low, high = declared.lowest, declared.highest
    if declared.type is ValueType.NAME:
        low, high = 0, len(declared.names) - 1
    inside = ((codes >= low) & (codes <= high)) | np.isin(codes, list(declared.special))
    wrong = np.flatnonzero(~inside)
    if not len(wrong):
        return []
    more = f", and {len(wrong) - 1} more rows" if len(wrong) > 1 else ""
    what = f"row {wrong[0] + 1} has {codes[wrong[0]]}{more}"
    fix = f"Give {low} to {high}, or a declared special code"
    return [WrongInput(what, where=where, fix=fix)]


def read_declared(name: str, given: Fields) -> Declared | None:
    """A declaration from a document; what is wrong with it is kept by the fields."""
    kind = given.need("type", one_of(ValueType))
    meaning = given.take("means", text) or ""
    names = tuple(given.take("names", _texts) or ())
    lowest, highest = given.take("from", _exact), given.take("to", _exact)
    special = given.take("special", _specials) or {}
    parameter = given.take("parameter", text) or ""
    raw_missing = given.take("missing", lambda value, _: value)
    given.close()
    if not given.has_needed:
        return None
    if kind is ValueType.NAME and not names:
        given.wrong(f"{name} lists no names", "List them, such as names: [a, b]", "names")
        return None
    if kind is ValueType.WHOLE and (lowest is None or highest is None):
        given.wrong(f"{name} has no range", "Give from and to", "type")
        return None
    if lowest is not None and highest is not None and lowest > highest:
        given.wrong(f"{name} goes from {lowest} to {highest}", "Give from ≤ to", "from")
        return None
    low, high = (0, 1) if kind is ValueType.TRUTH else (lowest, highest)
    declared = Declared(
        name, kind, -EXACT if low is None else low, EXACT if high is None else high, names,
        special, None, meaning, parameter,
    )  # fmt: skip
    if wrong := _strange_codes(declared):
        given.wrong(wrong, "Give codes to numbers alone, outside from and to", "special")
        return None
    if raw_missing is None:
        return declared
    return _with_missing(declared, raw_missing, given)


def _strange_codes(declared: Declared) -> str:
    """Problems of the special codes: one must never be taken for a value."""
    if declared.special and declared.type in (ValueType.NAME, ValueType.TRUTH):
        return f"{declared.name} has special codes, and its values are no numbers"
    inside = [code for code in declared.special if declared.lowest <= code <= declared.highest]
    return f"special code {inside[0]} is also a value of {declared.name}" if inside else ""


def _with_missing(declared: Declared, missing: object, given: Fields) -> Declared | None:
    """`missing` names one of the special codes, or one of the names."""
    if declared.type is ValueType.NAME and missing in declared.names:
        return replace(declared, missing=declared.names.index(str(missing)))
    if isinstance(missing, int) and missing in declared.special:
        return replace(declared, missing=missing)
    fix = "Name one of its special codes, or one of its names, and say what it means"
    given.wrong(f"missing is {missing!r}, which is not declared", fix, "missing")
    return None


def _exact(given: Any, where: str) -> int:
    return whole_of(-EXACT, EXACT)(given, where)


def _texts(given: Any, where: str) -> list[str]:
    if not isinstance(given, list) or not given:
        raise DocumentError("not a list of names", where=where, fix="Write [first, second]")
    found = [text(each, where) for each in given]
    if len(set(found)) < len(found):
        raise DocumentError("a name is there twice", where=where, fix="List each name once")
    return found


def _specials(given: Any, where: str) -> dict[int, str]:
    if not isinstance(given, dict) or not given:
        fix = "Write 'code: meaning', such as {-1: no bureau file}"
        raise DocumentError("no codes with their meaning", where=where, fix=fix)
    return {whole(code, where): text(means, where) for code, means in given.items()}
