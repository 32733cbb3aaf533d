"""Mandates of funding sources: reading, checks, limits, margins, and their columns."""
