"""The rules of tracks: what a submission must keep to."""
