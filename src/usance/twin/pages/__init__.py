"""A book as pages: a static site from the headline figures down to single loans."""
