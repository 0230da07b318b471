"""`pnyx label`: people answer the questions that judges answer, in a browser."""
