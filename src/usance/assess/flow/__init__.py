"""Decision flows: files of tables and formulas that people edit, checked, run and compiled."""
