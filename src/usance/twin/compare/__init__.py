"""Comparison of a run with published figures, line by line."""
