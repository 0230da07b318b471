"""The judgement store: requests and replies."""
