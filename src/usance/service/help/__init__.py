"""Help for borrowers: plans with eligibility and authority, complaints, withdrawal."""
