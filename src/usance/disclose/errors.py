"""Errors of the disclose room: fact tables, rounding profiles, filers, forms and addresses.

InputError
├── FactError       disclose.fact       422
│   └── WrongSign   disclose.fact.sign  422
├── ProfileError    disclose.profile    400
├── FilerError      disclose.filer      400
├── FormError       disclose.form       422
├── BrokenRelease   disclose.release    422
└── AddressError    disclose.address    400
"""

from __future__ import annotations

from usance.base.errors import InputError


class FactError(InputError):
    """A row of a fact table cannot be used; `where` has the file and the line."""

    code = "disclose.fact"
    http_status = 422


class WrongSign(FactError):
    """A figure is below zero that never is."""

    code = "disclose.fact.sign"


class ProfileError(InputError):
    """A rounding profile names something that does not exist, or lacks something."""

    code = "disclose.profile"


class FilerError(InputError):
    """A filer's file or announcement is invalid, or lacks something."""

    code = "disclose.filer"


class FormError(InputError):
    """A dividend lacks what the exchange's form asks for."""

    code = "disclose.form"
    http_status = 422


class BrokenRelease(InputError):
    """A figure of a release does not follow from its others, so the release is not written."""

    code = "disclose.release"
    http_status = 422
    exit_code = 1


class AddressError(InputError):
    """An address names no figure of a release."""

    code = "disclose.address"
