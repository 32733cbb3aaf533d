"""The live ledger: journals and postings in the database, sealed against later changes."""
