"""The close of a period: checklist, scope, controls, carry-forward and the closes of a book."""
