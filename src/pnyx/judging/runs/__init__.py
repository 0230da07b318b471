"""Runs of a judge over many items, with resuming and sharding."""
