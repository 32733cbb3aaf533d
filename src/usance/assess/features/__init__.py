"""Features: what was known of an applicant at the moment of a decision, defined as data."""
