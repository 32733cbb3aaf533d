"""From applicants with outcomes to a model: bins, folds, trees, weights, guards and the folder."""
