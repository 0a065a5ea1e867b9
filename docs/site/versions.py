"""Builds the site of this version beside those of others: `python docs/site/versions.py build/site`.

Each version has a folder of its own, which is not touched when another one is built. `versions.js` in the folder above
names them all, and every page shows them, older pages included; `index.html` leads to the newest.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import reshuffle

DOCS = Path(__file__).parents[1]
SPHINX = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
SCRIPT = """\
for (const place of document.querySelectorAll(".versions")) {
  const above = new URL(".", document.currentScript.src);
  for (const version of %s) {
    const link = document.createElement("a");
    link.href = new URL(version + "/index.html", above);
    link.textContent = version;
    if (version === place.dataset.version) link.setAttribute("aria-current", "true");
    place.append(link);
  }
}
"""
PAGE = """\
<!doctype html>
<meta charset="utf-8">
<title>reshuffle</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">reshuffle {0}</a>
"""


def built(site: Path) -> list[str]:
    """The versions whose pages are there, the newest first."""
    names = [path.parent.name for path in site.glob("*/objects.inv")]
    return sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)


def main(site: Path) -> int:
    """Build, and tell all pages which versions there are; the exit status of Sphinx."""
    status = subprocess.run(
        [sys.executable, *SPHINX, str(DOCS), str(site / reshuffle.__version__)], check=False
    )
    versions = built(site)
    if status.returncode == 0:
        (site / "versions.js").write_text(SCRIPT % json.dumps(versions), encoding="utf-8")
        (site / "index.html").write_text(PAGE.format(versions[0]), encoding="utf-8")
    return status.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
