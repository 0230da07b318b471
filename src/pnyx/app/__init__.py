"""What a user can choose, as specs, and what the specs open: shared by every front end."""
