"""Chat models behind an HTTP API."""
