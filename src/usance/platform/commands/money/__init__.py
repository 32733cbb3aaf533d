"""Money: orders, files, reconciliation, cash that belongs to nobody yet."""
