"""Lending: applications, quotes, agreements, drawdowns, offers."""
