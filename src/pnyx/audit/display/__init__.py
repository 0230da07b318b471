"""What a check or an audit found, for people."""
