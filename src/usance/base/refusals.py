"""A kernel's refusal of a loan as one number: the reason's code and the position of the fact.

>>> unpack_refusal(pack_refusal(5, 2))
(5, 2)
"""

from __future__ import annotations

from usance.base.compiled import kernel

_CODES = 16
"""Codes of reasons are below this; 0 is no refusal."""


@kernel(inline=True)
def pack_refusal(code: int, position: int) -> int:
    """A refusal's code and the position, from 0, of the fact among the loan's."""
    return code + _CODES * position


def unpack_refusal(packed: int) -> tuple[int, int]:
    """The code and the position of a packed refusal."""
    position, code = divmod(packed, _CODES)
    return code, position
