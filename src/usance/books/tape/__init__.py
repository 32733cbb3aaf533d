"""The books of a portfolio that is brought as a loan tape."""
