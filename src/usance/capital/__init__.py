"""Capital: the company's own shares, share-based compensation, dividends and repurchases.

The room states facts and computes amounts, all of them cumulative and exact; it never posts.

>>> from datetime import date
>>> from usance.capital import Register, ShareChange, ShareKind
>>> opening = ShareChange(ShareKind.ISSUED, date(2023, 12, 31), 1_000, "USD")
>>> Register((opening,)).outstanding(date(2024, 6, 30))
1000
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
