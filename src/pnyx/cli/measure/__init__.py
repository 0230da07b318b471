"""`pnyx measure`: answers against labels; other rooms add their measures by doors."""
