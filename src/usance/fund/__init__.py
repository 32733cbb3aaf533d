"""Fund: trusts and asset-backed deals, their waterfalls, projections, pools and reports.

A deal is a file (`read_deal`); a payment date is one function of its state and what its loans paid
(`pay_date`), the same for a projection (`project`) and for the real one.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
