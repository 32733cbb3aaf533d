"""Failures of a request, and the one object that every failure is answered with.

Codes are stable: `CODES` lists those of the API itself, `known_codes` adds those of the platform.

>>> error = RequestError("unknown_field", "there is no field colour", param="body.colour")
>>> error_object(error, "rq_1")["error"]["code"]
'unknown_field'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from usance.base.errors import UsanceError
from usance.platform.errors import PlatformError, RefusedBefore

TYPES = {
    400: "invalid_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "invalid_request",
    409: "conflict",
    422: "refused",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}
"""Types of errors by status; any other status is that of its hundred."""

CODES = {
    "unauthenticated": (401, "Send Authorization: Bearer KEY with a key of this installation"),
    "wrong_mode": (401, "Use a key of this installation's mode: usk_test_ in a sandbox"),
    "session_needed": (403, "Sign in as an operator: POST /v1/sessions"),
    "bad_signature": (401, "Sign t.METHOD.path?query.body with your secret, within five minutes"),
    "idempotency_key_missing": (400, "Send Idempotency-Key with 1 to 255 visible characters"),
    "idempotency_key_invalid": (400, "Use 1 to 255 visible ASCII characters"),
    "unknown_field": (400, "Remove it, or correct its name"),
    "missing_field": (400, "Give it"),
    "invalid_field": (400, "Correct it; /v1/openapi.json has the form"),
    "unknown_parameter": (400, "Remove it; /v1/openapi.json lists those of the route"),
    "repeated_parameter": (400, "Give it once"),
    "invalid_cursor": (400, "Take it from next of the page before, unchanged"),
    "wrong_id_kind": (400, "Give the id of the kind that belongs here"),
    "malformed_id": (400, "Give an id as the platform printed it"),
    "date_out_of_range": (400, "Give a day between 1990-01-01 and 2199-12-31"),
    "amount_out_of_range": (400, "Give whole minor units above zero, at most 10^15"),
    "number_too_large": (400, "Give numbers of at most 19 digits"),
    "not_a_number": (400, "NaN and Infinity are no JSON; leave the field out"),
    "duplicate_key": (400, "Give each field once"),
    "invalid_json": (400, "Send one JSON object in UTF-8"),
    "invalid_text": (400, "Leave out characters that cannot be stored"),
    "content_type": (400, "Send Content-Type: application/json"),
    "body_too_large": (400, "Send less; files have their own route"),
    "body_incomplete": (400, "Send the whole body at once"),
    "not_found": (404, "Check the address and the id"),
    "method_not_allowed": (405, "See /v1/openapi.json for the methods of this address"),
    "rate_limited": (429, "Wait as long as Retry-After says"),
    "internal": (500, "Tell us the request_id"),
    "unavailable": (503, "Try again as Retry-After says"),
}
"""Status and next step of every code that the API itself gives."""


class RequestError(PlatformError):
    """A request that cannot be taken, with the code that its caller can rely on."""

    code = "platform.request"

    def __init__(
        self, code: str, what: str, *, param: str | None = None, fix: str = "",
        retry_after: int | None = None,
    ) -> None:  # fmt: skip
        status, next_step = CODES[code]
        super().__init__(what, where=param or "", fix=fix or next_step)
        self.api_code, self.status, self.retry_after = code, status, retry_after


def status_of(error: UsanceError) -> int:
    """The status that an error is answered with."""
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, RefusedBefore):
        return int(error.first["http_status"])
    return error.http_status


def code_of(code: str) -> str:
    """A code as the API tells it: that of the platform as it is, that of a room in one word.

    >>> code_of("platform.client_ref_taken"), code_of("input.date")
    ('client_ref_taken', 'input_date')
    """
    return code.removeprefix("platform.").replace(".", "_")


_ID = re.compile(r"[a-z]{2}_[0-9A-Z]+")
_WITH_PARAM = (400, 409, 422)
_FIELD = re.compile(r"(?:body|query|path|header)\b.*|[a-z_][a-z0-9_.\[\]]*")


def error_object(error: UsanceError, request_id: str) -> dict[str, Any]:
    """The body that tells a failure."""
    parts, status = error.as_dict(), status_of(error)
    if isinstance(error, RefusedBefore):  # the first answer again, whole
        request_id = error.first.get("request_id") or request_id
    own = isinstance(error, RequestError)
    code = error.api_code if isinstance(error, RequestError) else code_of(parts["code"])
    where, message = parts["where"], f"{_sentence(parts['what'])} {_sentence(parts['fix'])}"
    param = where if own and where else None
    if not own and status in _WITH_PARAM and _FIELD.fullmatch(where) and not _ID.fullmatch(where):
        param = where if where.startswith(("body", "query", "path", "header")) else f"body.{where}"
    if status == 404:  # foreign and unknown ids are answered with the same words
        code, message, param = "not_found", f"There is nothing here. {CODES['not_found'][1]}.", None
    if status == 500:  # the log has what went wrong, the caller has the id to ask by
        code, message = "internal", f"Something went wrong on our side. {CODES['internal'][1]}."
    told: dict[str, Any] = {
        "type": TYPES.get(status, TYPES.get(status // 100 * 100, "internal")),
        "code": code,
        "message": message,
        "param": param,
        "doc": f"/docs/errors#{code}",
        "request_id": request_id,
    }
    if not own and not parts["code"].startswith("platform"):
        told["cause"] = parts["code"]
    return {"error": told}


def known_codes() -> dict[str, tuple[int, str]]:
    """Every code that may be answered, with its status and its meaning or next step."""
    codes = dict(CODES)
    for kind in _below(UsanceError):
        if kind not in (RequestError, RefusedBefore):
            meaning = (kind.__doc__ or "").strip().splitlines()[0]
            codes.setdefault(code_of(kind.code), (kind.http_status, meaning))
    return dict(sorted(codes.items()))


def _below(kind: type[UsanceError]) -> Iterator[type[UsanceError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


MAX_LINE = 600
"""Letters of a line that a message goes on for: nobody reads their own megabyte again."""


def _sentence(text: str) -> str:
    """A part of a message.

    >>> _sentence("is no day"), len(_sentence("x" * 70_000))
    ('Is no day.', 602)
    """
    text = "\n".join(line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"
                     for line in text[:1_000_000].split("\n"))  # fmt: skip
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
