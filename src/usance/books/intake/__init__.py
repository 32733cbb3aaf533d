"""Intake of a book that others kept: loans, facts and facts of the group from CSV or Parquet."""
