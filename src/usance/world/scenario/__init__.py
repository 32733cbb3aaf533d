"""Scenarios: the simulated economy as data, read from a file and checked."""
