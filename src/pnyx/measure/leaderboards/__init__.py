"""Leaderboards: against each other, against people, and corrected by people's labels."""
