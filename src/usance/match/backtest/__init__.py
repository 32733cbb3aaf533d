"""Back-tests: requests replayed under several policies and compared with the hindsight bound."""
