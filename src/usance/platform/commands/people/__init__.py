"""People: users and what is known about them, their rights about it, screening."""
