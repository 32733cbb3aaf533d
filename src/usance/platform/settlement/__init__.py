"""Settlement: what is owed to institutions and guarantors, from the facts of loans."""
