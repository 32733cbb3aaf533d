"""Desk: what decides which case is worked when, by whom and through which channel."""
