"""The run of a scenario: planned, split into shards, resumable, closed and published."""
