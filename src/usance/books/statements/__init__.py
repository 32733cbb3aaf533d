"""Statements from postings: one set of books for the group, under both frameworks."""
