"""Effective interest: of one contract exactly, and of a column of loans."""
