"""Split settlement: amounts collected for each institution, in batches, files and answers."""
