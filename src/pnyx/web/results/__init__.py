"""Pages of results: leaderboards, judgments, figures."""
