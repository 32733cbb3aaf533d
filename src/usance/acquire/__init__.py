"""Acquire: channels and attribution, registration, identity, consent, and cost of acquisition.

>>> from usance.acquire import resident_number
>>> str(resident_number("11010519491231002X").born)
'1949-12-31'
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
