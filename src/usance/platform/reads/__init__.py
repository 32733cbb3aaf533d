"""Reads: plain queries under the caller's principal, in the shapes that answers have."""
