"""The client of the API: typed calls, sent in one way or the other, again with the same key.

It knows nothing of the rest of the platform, so that whoever speaks HTTP can take it home.
"""
