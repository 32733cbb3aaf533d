"""Speed, as ratios measured in one run: to the peer, to the raw limit, to a slower machine of ours."""
