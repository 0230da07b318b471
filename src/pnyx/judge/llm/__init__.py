"""A language model as a judge: prompts, requests and the reading of replies."""
