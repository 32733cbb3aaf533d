"""Assess: credit decisions with line, price and reasons, and the models behind them.

A file of applicants with outcomes becomes a calibrated, documented model; a model scores a file or
one applicant in the same way, with its reasons; a flow of tables and models decides one request or
a column of millions; and what it granted becomes the tables of lines and requests. Names are
imported when first used.

>>> from usance.assess import decide_columns, read_flow
>>> from usance.base.codes import DecisionKind
>>> flow = read_flow("consumer")
>>> sorted(flow.needed(DecisionKind.DRAWDOWN))[:3]
['age_years', 'bank_inflow_ppm', 'bureau_inquiries_90d']
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
