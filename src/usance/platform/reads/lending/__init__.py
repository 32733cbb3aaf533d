"""Applications, decisions and drawdowns as they are answered."""
