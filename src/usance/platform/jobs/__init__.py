"""Jobs: work that machines do, from a queue in the database, one step of the business day each."""
