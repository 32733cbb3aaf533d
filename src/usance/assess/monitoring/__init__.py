"""A model in use: who approved it, and whether it still holds month by month."""
