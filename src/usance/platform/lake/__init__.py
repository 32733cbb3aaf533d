"""The lake: everything that the database holds as a book folder, appended day by day."""
