"""A month in the life of a shard: users come and apply, loans are drawn, served and folded."""
