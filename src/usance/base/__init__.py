"""The base of every room: money, rates, dates, identifiers, errors, tables and books.

Import the module that names the thing (`from usance.base.money import Money`); this package
itself imports nothing, so the light modules stay light.
"""
