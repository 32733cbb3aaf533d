"""Payment orders: one wish to move money through one provider, from its making to its end."""
