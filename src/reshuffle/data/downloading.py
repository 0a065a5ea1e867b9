"""Download files from their public origin: interrupted downloads resume, and checksums are verified."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import quote

from reshuffle.data.finding import file_path
from reshuffle.errors import InputError, Place
from reshuffle.kg.io.files import GZIP_ERRORS
from reshuffle.locks import is_own, no_link, refuse_link
from reshuffle.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reshuffle.data.cards import DataCard, FileCard
    from reshuffle.progress import Progress

TIMEOUT_SECONDS = 20.0
_ATTEMPTS = 3
_BLOCK = 1 << 16


class CutOffError(OSError):
    """The connection ended before the file did."""


def download(card: DataCard, directory: Path, *, progress: Progress = SILENT) -> None:
    """Fetch the files of a benchmark that `directory` lacks; an `OSError` means that the origin is away."""
    for file in card.files:
        target = file_path(card, file, directory)
        if not target.is_file():
            with progress(f"{card.name}: {file.path}", unit="B") as advance:
                download_file(f"{card.url}/{quote(file.path)}", file, target, advance=advance)


def download_file(url: str, file: FileCard, target: Path, *, advance: Callable[[int], None]) -> None:
    """Fetch one file into `target`, which appears only when it is whole and its checksum is right.

    What has arrived is kept in `target`.part, and the next attempt, or the next call, goes on from there.
    """
    part = target.with_name(target.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    _refuse_what_others_prepared(part)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _continue(url, part, advance)
            break
        except (OSError, http.client.HTTPException) as error:
            if attempt == _ATTEMPTS or not _worth_another_try(error):
                raise _as_os_error(error) from error
    try:
        check_content(part, file, source=url)
    except InputError:
        part.unlink()  # going on from wrong bytes would never come right
        raise
    part.replace(target)


def _refuse_what_others_prepared(part: Path) -> None:
    refuse_link(part)
    if part.exists() and not is_own(part):  # who could change it once it was checked
        raise InputError(
            "found a file of another user, expected one of yours or nothing",
            place=Place(str(part)),
            hint="remove it, or keep the data in another directory",
        )


def _continue(url: str, part: Path, advance: Callable[[int], None]) -> None:
    """Download the rest of a file, or all of it where the server does not know about ranges."""
    have = part.stat().st_size if part.is_file() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is missing; the checksum has the last word
        raise
    mode = "ab" if response.status == http.client.PARTIAL_CONTENT else "wb"
    with response, open(part, mode, opener=no_link) as out:
        expected = response.headers.get("Content-Length")
        received = 0
        while block := response.read(_BLOCK):
            out.write(block)
            received += len(block)
            advance(len(block))
    if expected is not None and received < int(expected):
        raise CutOffError(f"the connection to {url} ended after {received:,} of {int(expected):,} bytes")


def _worth_another_try(error: Exception) -> bool:
    """A connection that was cut may hold next time; an unknown host or a missing file will not come back."""
    return isinstance(error, CutOffError | ConnectionError | TimeoutError | http.client.HTTPException)


def _as_os_error(error: Exception) -> OSError:
    return error if isinstance(error, OSError) else OSError(str(error))


def check_content(path: Path, file: FileCard, *, source: str) -> None:
    """Raise unless this is the published file."""
    found = content_checksum(path)
    if found != file.sha256:
        raise InputError(
            f"not the published file: expected SHA-256 {file.sha256}, found {found}",
            place=Place(source),
            hint="download it again; only line ends and gzip may differ",
        )


def content_checksum(path: Path) -> str:
    """SHA-256 of the lines joined by newlines, so that line ends and compression do not count."""
    content = path.read_bytes()
    try:
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except GZIP_ERRORS as error:
        raise InputError(
            "damaged or incomplete: it cannot be unpacked", place=Place(str(path)), hint="fetch it again"
        ) from error
    return hashlib.sha256(b"\n".join(content.splitlines())).hexdigest()
