"""Usance is an open credit platform: one loan or fifty million, from the same records."""

__version__ = "0.1.0"
