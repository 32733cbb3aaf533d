"""Conform: cases with known answers from outside, run through the rooms."""
