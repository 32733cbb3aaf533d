"""Partners: events told to others, and calls that go out."""
