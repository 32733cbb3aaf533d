"""World: the simulated economy, deterministic from one seed; it talks through ports alone."""
