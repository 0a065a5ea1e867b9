"""Fetches and checks the scripts of others that are kept here: `python integrations/vendored.py [--write]`.

Each folder with such files has a `vendored.json`: for each file the npm package, its version and licence, the checksum
of the package as npm publishes it, the path inside, and the checksum of the file as it is kept. Without `--write`
nothing is changed, and the exit status is 1 where a file differs. Lines that name a source map are left out, since the
map is not kept.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "src/reshuffle/explorer/static/vendor", ROOT / "integrations/vendor")
MANIFEST = "vendored.json"


def package(name: str, version: str, integrity: str) -> tarfile.TarFile:
    """The package of npm, from the registry that npm is set to, if it is the one that was chosen."""
    with tempfile.TemporaryDirectory() as folder:
        call = ["npm", "pack", f"{name}@{version}", "--silent", "--pack-destination", folder]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        (file,) = Path(folder).iterdir()
        content = file.read_bytes()
    found = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != integrity:
        raise SystemExit(f"{name} {version}: found {found}, expected {integrity}")
    return tarfile.open(fileobj=io.BytesIO(content))


def kept(content: bytes) -> bytes:
    """The file without the line that names its source map."""
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"//# sourceMappingURL"))


def main(write: bool) -> int:
    """Compare or write; the exit status."""
    status = 0
    for folder in FOLDERS:
        for file, about in json.loads((folder / MANIFEST).read_text()).items():
            with package(about["package"], about["version"], about["integrity"]) as archive:
                member = archive.extractfile(about["path"])
                assert member is not None
                content = kept(member.read())
            if write:
                (folder / file).write_bytes(content)
            same = (folder / file).read_bytes() == content
            same = same and hashlib.sha256(content).hexdigest() == about["sha256"]
            print(f"{file}: {about['package']} {about['version']}: {'same' if same else 'DIFFERENT'}")  # noqa: T201
            status |= not same
    return status


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
