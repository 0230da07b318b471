"""`pnyx measure`: compare answers with labels; other rooms register their measures as doors."""
