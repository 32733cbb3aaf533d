"""Files of banks and payment providers: statements and reports in, orders out."""
