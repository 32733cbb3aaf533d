"""The console: pages for the platform's own people, on the same commands and reads as the API."""
