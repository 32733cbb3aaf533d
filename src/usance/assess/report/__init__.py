"""The model card, to read and to print."""
