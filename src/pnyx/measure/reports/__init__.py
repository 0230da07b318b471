"""Measures of reports judged by ARGUE's tree: sentences, citations, nuggets, rewards, lengths."""
