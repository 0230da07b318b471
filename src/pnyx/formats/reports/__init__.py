"""Reports, nuggets and leaderboards."""
