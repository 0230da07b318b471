"""Formats of questions, runs, judgements, responses and drafts."""
