"""Facts about capital as people write them, in YAML or JSON.

The format is described in `docs/reference/capital.md`. Everything wrong with a document is found
in one pass and named with its file, line and key.
"""
