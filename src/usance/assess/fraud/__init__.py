"""Fraud: who shares what with whom, how fast applications come, and who is on a list."""
