"""The language-model judge: prompts, requests, replies."""
