"""Commands: everything that can be done, one plain function each, in a unit of work."""
