"""Match: each loan finds the best funder among many, and no limit is ever broken.

`make_plan` gives every limit a price, `route` sends each request to the source that is worth most
after these prices, `replay` compares that with other policies and with the hindsight bound.
Names are imported when first used.

>>> from usance.match import ENGINE, route
>>> from usance.match.backtest.streams import StreamKind, make_stream
>>> stream = make_stream(StreamKind.STEADY, seed=1, requests=300, sources=4, segments=10)
>>> result = route(stream.requests, stream.mandates, ENGINE, demand=stream.demand)
>>> len(result.column), result.margin_minor > 0
(300, True)
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
