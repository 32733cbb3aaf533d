"""The router: each request goes to the source that is worth most after the prices of limits."""
