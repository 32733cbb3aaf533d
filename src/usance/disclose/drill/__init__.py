"""Drill-down: from a printed figure to accounts, journals, loans and facts."""
