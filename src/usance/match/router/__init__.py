"""The router: each request to the source with the highest margin after the prices of limits."""
