"""Debate pages to documents and judged pairs by side (ConQRet, section 4)."""
