"""The HTTP API: thin routes around commands and reads, one module per group of the contract."""
