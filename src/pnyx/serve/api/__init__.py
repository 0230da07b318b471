"""What programs ask: the HTTP API with its description, and the server of MCP."""
