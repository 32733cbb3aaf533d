"""People as they are answered."""
