"""Service: money that moves, proof that it moved, and facts that fall due while a loan lives.

`due_facts` gives, for one loan or a column of them, the late fees, compensation at the trigger,
buy-out and charge-off of the days after a state if nobody pays. Names are imported when first used.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
