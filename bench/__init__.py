"""Speed, as ratios measured in one run: to the peer and to the raw limit."""
