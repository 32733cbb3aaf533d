"""Decisions: taken by a flow, explained, logged, replayed, compared and reported."""
