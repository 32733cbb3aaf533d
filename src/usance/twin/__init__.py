"""Twin: the whole life of a portfolio on columns."""
