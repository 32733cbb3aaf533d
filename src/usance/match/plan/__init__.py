"""The plan: demand, limits and margins as a linear programme, and the price of every limit."""
