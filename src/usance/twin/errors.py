"""Errors of the twin.

UsanceError
├── InputError
│   └── RunError            a run that cannot be made as asked for
│       ├── OtherRun        the folder holds another run
│       ├── LostManifest    the folder holds a run without its manifest
│       └── WhatIfError     two scenarios that cannot be compared
└── DiskFull                the disk is too small for the run
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from usance.base.errors import InputError, UsanceError
from usance.base.rates import PPB

MIN_SCALE, MAX_SCALE = Fraction(1, PPB), Fraction(4)
"""Amounts of the group are scaled by parts in a billion."""


class RunError(InputError):
    """A run that cannot be made as it was asked for."""

    code = "twin.run"


class OtherRun(RunError):
    """The folder holds a run of another scenario, seed, scale or version."""

    code = "twin.other_run"


class LostManifest(RunError):
    """The folder holds files of a run, but not the one that names them."""

    code = "twin.lost_manifest"


class WhatIfError(RunError):
    """Two scenarios that cannot be compared."""

    code = "twin.what_if"


class DiskFull(UsanceError):
    """The disk is too small for the run."""

    code = "twin.disk"


def scale_text(scale: Fraction) -> str:
    """A scale in some digits, be it as large or as small as it may.

    >>> scale_text(Fraction(1, 30)), scale_text(Fraction(10**400))
    ('0.0333333', '1.00000e+400')
    """
    return f"{Decimal(scale.numerator) / scale.denominator:.6g}"


def scale_error(given: str) -> RunError:
    """The error for a scale out of range."""
    least, most = scale_text(MIN_SCALE), scale_text(MAX_SCALE)
    fix = f"Give a number from {least} to {most}, such as 0.01 or 1/100"
    return RunError(f"the scale is {given}", where="--scale", fix=fix)
