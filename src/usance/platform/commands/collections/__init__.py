"""Collections: cases, contacts, desks, agencies, strategies."""
