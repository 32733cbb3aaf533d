"""Loans, payments, plans and letters as they are answered."""
