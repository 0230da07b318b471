"""Building a benchmark of questions with opposing perspectives (BERDS, section 4.1, Appendix B).

Drafts are written by a language model from what people argued, claimed or were asked; filtered;
reviewed in an editor between the steps; and exported as questions and perspectives.
"""
