"""Tie-out: every published figure that follows from others, recomputed."""
