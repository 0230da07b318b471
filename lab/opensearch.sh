#!/bin/sh
# lab/opensearch.py by the Python of the environment, or else of the machine.
here=$(dirname "$0")
python="$here/../.venv/bin/python"
[ -x "$python" ] || python=python3
exec "$python" "$here/opensearch.py" "$@"
