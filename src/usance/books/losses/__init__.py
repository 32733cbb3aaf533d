"""Expected credit losses: CECL and IFRS 9 on the same pools, from a cohort triangle to rates."""
