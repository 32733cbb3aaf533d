"""Money and the ledger as they are answered."""
