"""The loan subledger: positions, posting amounts and journals of single loans."""
