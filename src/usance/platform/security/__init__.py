"""Security: who acts, what they may do, and what is known about borrowers."""
