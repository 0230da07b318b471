"""Nugget banks in the making: drafted from relevant documents, and merged."""
