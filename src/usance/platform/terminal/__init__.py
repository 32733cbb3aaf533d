"""The platform on the terminal: `usance up` and the commands of who may come in."""
