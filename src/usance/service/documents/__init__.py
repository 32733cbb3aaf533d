"""Letters to borrowers, institutions and guarantors; the same values give the same bytes."""
