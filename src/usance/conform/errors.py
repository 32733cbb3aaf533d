"""Errors of the cases with known answers.

InputError
└── CaseError                   conform.case             422
"""

from __future__ import annotations

from usance.base.errors import InputError


class CaseError(InputError):
    """A case of a conformance file cannot be used as it is."""

    code = "conform.case"
    http_status = 422
