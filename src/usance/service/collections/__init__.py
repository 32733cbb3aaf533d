"""Collections: cases, strategies, contact rules, promises, values, allocation and agencies."""
