"""The demo: a simulated lender in a database, alive, with a world that goes on through the API."""
