"""Questions, answers and judges; see docs/architecture.md."""
