"""Closing: a period of the live ledger, closed on the lake's book, with its figures published."""
