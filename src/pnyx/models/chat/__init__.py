"""Chat models behind endpoints: requests, replies, cost."""
