"""The books on columns: what every loan has earned, owes and may lose, on 64-bit integers."""
