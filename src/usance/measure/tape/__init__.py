"""Loan tapes: a file and a mapping in, a report out."""
