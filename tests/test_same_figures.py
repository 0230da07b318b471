"""Figures of a judge (calibration, trials) are the same in each command and in `pnyx view`."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pnyx.serve.view.opening import open_catalogue
from pnyx.serve.view.application import build_application

pytestmark = pytest.mark.usefixtures("own_place", "run_once")

FIGURE = "value low high scored asked".split()
