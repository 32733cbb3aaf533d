"""Control: configuration, periods, deals, jobs and the sandbox's clock."""
