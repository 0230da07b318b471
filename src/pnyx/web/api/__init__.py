"""The HTTP API and the Model Context Protocol."""
