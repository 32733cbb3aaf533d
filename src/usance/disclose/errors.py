"""What can be wrong with a fact table or a rounding profile.

InputError
├── FactError       disclose.fact       422
└── ProfileError    disclose.profile    400
"""

from __future__ import annotations

from usance.base.errors import InputError


class FactError(InputError):
    """A row of a fact table cannot be used; `where` has the file and the row."""

    code = "disclose.fact"
    http_status = 422


class ProfileError(InputError):
    """A rounding profile names something that does not exist, or lacks something."""

    code = "disclose.profile"
