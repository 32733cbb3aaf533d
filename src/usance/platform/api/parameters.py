"""Parameters of addresses: each of a kind that says how it is read and how it is described.

>>> DAY.read("2024-07-01", "query.as_of")
datetime.date(2024, 7, 1)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from usance.base.errors import IdError
from usance.base.ids import PREFIXES, parse_id, print_id
from usance.platform.api.errors import RequestError
from usance.platform.api.pages import DEFAULT_PAGE, MAX_PAGE
from usance.platform.commands.fields import FIRST_DAY, LAST_DAY

MAX_NUMBER = 32_767
"""The largest number of an entity or a rule."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:\d{2})")
_MONTH = re.compile(r"(?:19|20|21)\d\d-(?:0[1-9]|1[0-2])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
PATH_IDS = {
    "user": "us", "decision": "de", "loan": "ln", "payment": "pm", "offer": "of",
    "approval": "ap", "journal": "jr", "job": "jb", "webhook": "wh", "agreement": "ag",
    "quote": "qu", "account": "ac", "event": "ev", "order": "or", "unallocated": "un",
    "break_id": "br", "complaint": "cp", "request": "ha", "plan": "pl",
    "hit": "sh", "correction": "rr",
    "case": "ca", "contact": "ct", "stop": "st", "settlement": "se",
    "claim": "cl", "entry": "ev", "sale": "sa",
}  # fmt: skip
"""Names of ids in addresses with the prefix that each has."""


@dataclass(frozen=True)
class Parameter:
    """One way to write a parameter."""

    read: Callable[[str, str], Any]
    schema: dict[str, Any]
    description: str = ""


def _day(text: str, where: str) -> date:
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        raise RequestError("invalid_field", "is no day", param=where, fix="Give YYYY-MM-DD")
    if not FIRST_DAY <= day <= LAST_DAY:
        raise RequestError("date_out_of_range", "is beyond sense", param=where)
    return day


def _moment(text: str, where: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+")) if _fits(text) else None
    except ValueError:
        moment = None
    if moment is None:
        fix = "Give a moment with its zone, like 2024-07-01T01:00:00Z"
        raise RequestError("invalid_field", "is no moment", param=where, fix=fix)
    if not FIRST_DAY <= moment.date() <= LAST_DAY:
        raise RequestError("date_out_of_range", "is beyond sense", param=where)
    return moment.astimezone(UTC)


def _fits(text: str) -> bool:
    return (
        _MOMENT.fullmatch(text.replace(" ", "+")) is not None
    )  # an unescaped + arrives as a space


def is_text(text: str) -> bool:
    """True of 1 to 255 characters, none of them a control character."""
    return 1 <= len(text) <= 255 and _CONTROL.search(text) is None


def _text(text: str, where: str) -> str:
    if not is_text(text):
        fix = "Give 1 to 255 characters, none of them a control character"
        raise RequestError("invalid_field", "is no text", param=where, fix=fix)
    return text


def _count(text: str, where: str) -> int:
    if not (
        text.isascii() and text.isdigit() and 1 <= len(text) <= 3 and 0 < int(text) <= MAX_PAGE
    ):
        fix = f"Give 1 to {MAX_PAGE}"
        raise RequestError("invalid_field", "is no size of a page", param=where, fix=fix)
    return int(text)


def _whole(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= MAX_NUMBER):
        fix = f"Give 0 to {MAX_NUMBER}"
        raise RequestError("invalid_field", "is no number of these", param=where, fix=fix)
    return int(text)


def is_month(text: str) -> bool:
    """True of a month, like 2024-07."""
    return _MONTH.fullmatch(text) is not None


def _month(text: str, where: str) -> str:
    if not is_month(text):
        raise RequestError("invalid_field", "is no month", param=where, fix="Give YYYY-MM")
    return text


def one_of(*choices: str) -> Parameter:
    """A parameter with a closed set of values."""

    def read(text: str, where: str) -> str:
        if text not in choices:
            fix = f"Give {', '.join(choices)}"
            raise RequestError("invalid_field", "is none of the choices", param=where, fix=fix)
        return text

    return Parameter(read, {"type": "string", "enum": list(choices)})


def an_id(prefix: str) -> Parameter:
    """A parameter that is an id of one kind."""

    def read(text: str, where: str) -> str:
        return check_id(text, prefix, where)

    return Parameter(read, id_schema(prefix))


def id_schema(prefix: str) -> dict[str, Any]:
    """The description of an id of one kind."""
    return {"type": "string", "pattern": f"^{prefix}_[0-9A-HJKMNP-TV-Z]{{11}}$",
            "examples": [print_id(prefix, 16_385)]}  # fmt: skip


def check_id(text: str, prefix: str, where: str) -> str:
    """A printed id of the wanted kind; one of another kind is refused, any other text unknown."""
    try:
        parse_id(text, prefix)
    except IdError as error:
        head = text.partition("_")[0]
        if head in PREFIXES and head != prefix:
            what = f"is the id of a {PREFIXES[head]}, a {PREFIXES[prefix]} is meant"
            raise RequestError("wrong_id_kind", what, param=where) from error
        raise RequestError("not_found", "there is nothing here") from error
    return text


DAY = Parameter(_day, {"type": "string", "format": "date"}, "A day.")
MOMENT = Parameter(_moment, {"type": "string", "format": "date-time"}, "A moment, in UTC.")
MONTH = Parameter(_month, {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}, "A month.")
TEXT = Parameter(_text, {"type": "string", "minLength": 1, "maxLength": 255})
NUMBER = Parameter(_whole, {"type": "integer", "minimum": 0, "maximum": MAX_NUMBER})
LIMIT = Parameter(
    _count, {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
    "Rows of a page.",
)  # fmt: skip
AFTER = Parameter(
    _text, {"type": "string", "minLength": 1, "maxLength": 255},
    "`next` of the page before.",
)  # fmt: skip
HISTORY = {"as_of": DAY, "known_at": MOMENT}
PAGED = {"limit": LIMIT, "after": AFTER}
