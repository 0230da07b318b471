"""Reports judged by ARGUE's tree: what is asked of each sentence, and what came of it."""
