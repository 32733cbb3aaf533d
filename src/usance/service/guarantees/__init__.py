"""Guarantors: claims on them, deposits with them, and recoveries of what they have paid."""
