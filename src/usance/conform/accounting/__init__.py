"""Worked examples of the standards, run through the functions the close uses."""
