"""A loan as a person writes it down: terms, facts and a day, in YAML, JSON and CSV.

The format is described in `docs/reference/loan-document.md`. Everything wrong with a document is
found in one pass and named with its file, line and key.
"""

from usance.loan.documents.loan import LoanDocument, loan_from_options, read_loan

__all__ = ["LoanDocument", "loan_from_options", "read_loan"]
