"""`python -m pnyx`."""

from pnyx.cli import main

main()
