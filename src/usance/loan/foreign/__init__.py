"""Loans as other lending systems compute them: for checking a book before it moves."""
