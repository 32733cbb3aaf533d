"""A book as a static site, from the headline figures down to single loans."""
