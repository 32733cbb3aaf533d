"""Annual rates of a loan's flows: by dates, by regulation, and against the cap in force."""
