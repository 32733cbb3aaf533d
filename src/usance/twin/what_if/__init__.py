"""Pairs of runs that answer a what-if: two scenarios on the same seeds, figure by figure."""
