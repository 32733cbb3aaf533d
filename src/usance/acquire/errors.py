"""Errors of acquisition.

InputError
├── ChannelError         acquire.channel      422
├── IdentityError        acquire.identity     422
└── DuplicateIdentity    acquire.duplicate    409
"""

from __future__ import annotations

from usance.base.errors import InputError


class ChannelError(InputError):
    """A file of channels or events cannot be used, or a channel is not in force."""

    code = "acquire.channel"
    http_status = 422


class IdentityError(InputError):
    """A document, card or phone number is malformed."""

    code = "acquire.identity"
    http_status = 422


class DuplicateIdentity(InputError):
    """The identity is registered already."""

    code = "acquire.duplicate"
    http_status = 409
