"""The rules of tracks for submissions."""
