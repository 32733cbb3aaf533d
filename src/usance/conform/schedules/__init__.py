"""Schedules and life cycles of other lending systems' public tests."""
