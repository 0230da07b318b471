"""HTTP: limits, retries, dialects."""
