"""The tree of questions that judges a report."""
