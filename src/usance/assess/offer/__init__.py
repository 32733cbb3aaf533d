"""Offers: expected profit of a line, price and tenor, and the best choice under limits."""
