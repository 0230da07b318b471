"""Nuggets: drafted from documents, merged, grown."""
