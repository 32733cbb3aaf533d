"""Loans: payments, events, terms, plans and what falls due."""
