"""Drafts for people at work: summaries by rule, and by a language model where one is configured."""
