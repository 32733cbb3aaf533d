"""Cases and what comes of them as they are answered."""
