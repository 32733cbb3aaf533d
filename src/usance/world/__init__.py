"""World: the simulated economy, deterministic from one seed; it talks through ports alone.

A scenario describes it; population, demand, behaviour, institutions and payment providers play it.
Names are imported when first used.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
