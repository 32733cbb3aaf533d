"""Platform: the live system of record around the same core, on PostgreSQL.

It adds no arithmetic: every figure comes from the rooms before it. What it adds is memory, order,
permission and proof.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
