"""Reservations: quota held while an institution decides, then kept or released."""
