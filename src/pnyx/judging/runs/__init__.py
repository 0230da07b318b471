"""Runs of a judge over many items: asked, answered, resumed, sharded."""
