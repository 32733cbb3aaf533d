"""Settlements, claims and institutions' own loans as they are answered."""
