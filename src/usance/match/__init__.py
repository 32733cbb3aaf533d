"""Match: each loan finds the best funder among many, and no limit is ever broken."""
