"""The base of every room: money, rates, dates, identifiers, errors, tables and books.

Names are imported when first used; inside the house, import from the module that names the thing
(`from usance.base.money import Money`), so that light modules stay light.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
