"""What programs ask: the HTTP API, its description, and the server of the Model Context Protocol."""
