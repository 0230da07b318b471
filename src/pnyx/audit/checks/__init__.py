"""A judge checked against people's labels in one table: can it be trusted?"""
