"""Requests to servers: transport, limits, waiting, redaction."""
