"""Building a benchmark of questions with opposing perspectives (BERDS, section 4.1, Appendix B)."""
