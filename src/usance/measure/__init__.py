"""Measure: every number the business is judged by, defined once and computed anywhere."""
