"""The store: a PostgreSQL server, embedded or given, with its roles, schema and pools."""
