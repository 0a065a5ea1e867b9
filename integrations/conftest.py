"""Tests beside other systems: browsers, clusters, other libraries, notebooks, the site (`make test-integrations`)."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # random rule bases, which both use
