"""The group half of the books: entities, facts that are not about one loan, and their entries."""
