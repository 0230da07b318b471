"""What an index knows of its documents besides their words."""
