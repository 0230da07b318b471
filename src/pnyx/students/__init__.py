"""Students: small judges that were trained on a teacher's labels (DIRAS, section 3.3).

`files` is what is on disk, `judge` asks it; each other file scores pairs with one kind of student.
`pnyx.annotate` trains them.
"""
