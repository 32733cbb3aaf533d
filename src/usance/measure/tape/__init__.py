"""Loan tapes: a file and a mapping in, a pack of measures out."""
