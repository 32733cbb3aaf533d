"""What can stand against a run."""

from __future__ import annotations

from usance.base.errors import InputError, UsanceError


class RunError(InputError):
    """A run that cannot be made as it was asked for."""

    code = "twin.run"


class OtherRun(RunError):
    """The folder holds a run of another scenario, seed, scale or version."""

    code = "twin.other_run"


class NoRoom(UsanceError):
    """The disk is too small for the run."""

    code = "twin.disk"
