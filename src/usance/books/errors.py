"""Errors of the books, with their codes and HTTP statuses.

InputError
├── ChartError        books.chart        400
├── RuleError         books.rule         400
├── GroupFactError    books.group_fact   422
├── Unbalanced        books.unbalanced   422
├── TapeError         books.tape         422
├── PeriodError       books.period       409
└── ControlFailed     books.control      409
"""

from __future__ import annotations

from usance.base.errors import InputError


class ChartError(InputError):
    """The chart of accounts is wrong, or an account is not in it."""

    code = "books.chart"


class RuleError(InputError):
    """A posting rule names what does not exist, or cannot be posted."""

    code = "books.rule"


class GroupFactError(InputError):
    """A fact of the group cannot be posted; `where` has its number."""

    code = "books.group_fact"
    http_status = 422


class Unbalanced(InputError):
    """A manual entry does not sum to zero per entity, basis and currency."""

    code = "books.unbalanced"
    http_status = 422


class TapeError(InputError):
    """A tape has gaps, repeats or values that cannot be; `where` has the row."""

    code = "books.tape"
    http_status = 422


class PeriodError(InputError):
    """A period is locked, not yet over, or its predecessor is still open."""

    code = "books.period"
    http_status = 409


class ControlFailed(InputError):
    """A control total does not hold; the message names the loans behind it."""

    code = "books.control"
    http_status = 409
    exit_code = 1
