"""Mandates: what each funding source takes, on which terms and up to which limits."""
