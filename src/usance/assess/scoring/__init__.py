"""From an applicant to a score, one way for files, single calls, SQL and paper; and the reasons."""
