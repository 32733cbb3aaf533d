"""Books: from loan facts and group facts to exact journals under US GAAP and IFRS.

A period is closed by `usance.books.close.checklist.close`; `ClosedBooks` opens what is closed.
Names are imported when first used.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
