"""Records: one loan, order, deal, case or user as a command reads and writes it."""
