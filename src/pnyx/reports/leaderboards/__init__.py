"""Leaderboards compared with each other and with people's."""
