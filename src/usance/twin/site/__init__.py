"""The site of a book that is a run: pages, with the plan of its last month."""
