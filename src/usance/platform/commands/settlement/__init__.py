"""Settlement: batches of institutions, claims on guarantors, their deposits."""
