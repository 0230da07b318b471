"""The embedded engine's inverted index: its folder, its files, its postings."""
