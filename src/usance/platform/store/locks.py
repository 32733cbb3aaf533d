"""Advisory locks of the database that have a number: who has one is alone at its work."""

from enum import IntEnum, unique


@unique
class Lock(IntEnum):
    """Work that one connection does at a time; others wait, or leave it to the one."""

    DEALS = 1_685_282_156
    """Deals are put in force and paid one after the other."""
    PERIODS = 0x7065_7269
    """Held shared by whoever posts, alone by whoever closes: for milliseconds."""
    MIGRATIONS = 0x7573_616E_6365
    """Whoever migrates: the letters of the name."""
    SCHEDULE = 7_305_804_402_566_557
    """Whoever keeps the time of a platform that is served."""
    LAKE = 7_305_804_402_566_558
    """Whoever exports to the lake or closes it."""
    CLOCK = 7_305_804_402_566_559
    """Whoever moves the clock of a sandbox."""
