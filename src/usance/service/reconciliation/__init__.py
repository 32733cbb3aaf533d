"""Three views of a day's money, ours, the provider's and the bank's, and what does not agree."""
