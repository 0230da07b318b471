"""Runs of a judge over many items: where the items come from, asking, resuming, writing."""
