"""Worked examples of annual rates from regulation."""
