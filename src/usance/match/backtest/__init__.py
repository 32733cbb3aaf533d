"""Backtests: streams of requests replayed under several policies beside the hindsight bound."""
