"""The explorer's server under load, its first answers, and search over a million names.

    python -m benchmarks.explorer --model MODEL --list LIST --large FOLDER

MODEL is of `reshuffle train FB15k-237-v1`, LIST of `reshuffle train FB15k-237 --recipe rules`. FOLDER is what
`python -m benchmarks.typed_graphs 1000000 FOLDER` makes, with a list of `reshuffle train FOLDER/facts.parquet -o
FOLDER/list --recipe rules --quick`. Without one of them its rows are left out.

Each row asks a server of its own over the loopback interface. `load`: many clients, each with a session of its own, ask
about one random entity after another for a minute: search, the entity, why, now and then a change and its undoing.
`first answers`: what each page takes once the subject is loaded. `pages`: the same for all pages of rule lists, in
processor time and on the clock. `effects`: what it takes to see what rules change, the first rows and all of it, while
missing links are searched for. `search`: a name is typed, letter by letter. It needs the extras `explore` and
`integrations`, and a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import psutil
from benchmarks.machine import describe
from benchmarks.result_files import write_document
from benchmarks.speed.workloads import our_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT = Path(__file__).parent / "results" / "speed" / "explorer.json"
PACKAGES = ("reshuffle", "starlette", "uvicorn", "numpy", "numba")
CLIENTS, SECONDS = 50, 60
NAMES = 1_000_000
_EFFECTS = 10  # rules of each kind


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The address of a server, with its token."""
    with started(*options) as (address, _):
        yield address


@contextmanager
def started(*options: str) -> Iterator[tuple[str, psutil.Process]]:
    """The address of a server, and its process."""
    command = [sys.executable, "-m", "reshuffle", "-q", "serve", *options, "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGINT)


def visitor(address: str) -> httpx.Client:
    """A client of a server."""
    return httpx.Client(base_url=address.split("/?", maxsplit=1)[0], follow_redirects=True, timeout=600)


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Milliseconds: the median, the 99th percentile and the largest."""
    found = np.percentile(seconds, [50, 99, 100]) * 1000
    return {name: round(float(value), 1) for name, value in zip(("p50", "p99", "most"), found, strict=True)}


def ready(client: httpx.Client, address: str) -> None:
    """Enter, and wait until the subject is loaded."""
    client.get(address)
    while client.get("/api/v1/search", params={"q": ""}).status_code == 202:
        time.sleep(0.2)


# --- load -------------------------------------------------------------------------------------------------------------


async def _visit(
    number: int, address: str, ends: float, times: dict[str, list[float]], errors: list[str]
) -> None:
    """One client: a session of its own, and one question after another."""
    chance, base = random.Random(number), address.split("/?", maxsplit=1)[0]
    async with httpx.AsyncClient(base_url=base, timeout=60, follow_redirects=True) as client:
        await client.get(address)

        async def asked(what: str, path: str, **options: Any) -> dict[str, Any]:
            began = time.perf_counter()
            while (
                answer := await client.request(options.pop("method", "GET"), path, **options)
            ).status_code == 202:
                await asyncio.sleep(0.05)
            times[what].append(time.perf_counter() - began)
            if answer.status_code != 200:
                errors.append(f"{path}: {answer.status_code} {answer.text[:200]}")
            return dict(answer.json())

        said = {"method": "POST", "headers": {"origin": base}}
        asked_once = False
        while not asked_once or time.monotonic() < ends:
            asked_once = True
            names = (
                await asked(
                    "search", "/api/v1/search", params={"q": chance.choice("abcdefghijklmnop0123456789")}
                )
            )["names"]
            if not names:
                continue
            name = chance.choice(names)
            page = await asked("entity", "/api/v1/entity", params={"name": name})
            if page.get("derived"):
                group = chance.choice(page["derived"])
                ends_of = (name, group["names"][0]) if group["side"] == "tail" else (group["names"][0], name)
                triple = {"head": ends_of[0], "relation": group["relation"], "tail": ends_of[1]}
                await asked("why", "/api/v1/why", params=triple)
            elif page.get("predicts"):
                await asked("predictions", "/api/v1/predictions", params={"head": name})
            if chance.random() < 0.05:
                change = {"kind": "add-fact", "triple": [f"visitor {number}", "father", name]}
                await asked("change", "/api/v1/changes", json={"change": change}, **said)
                await asked("what if", "/api/v1/what-if")
                await asked("undo", "/api/v1/undo", json={}, **said)


async def _visits(address: str, clients: int, seconds: float) -> dict[str, Any]:
    times: dict[str, list[float]] = defaultdict(list)
    errors: list[str] = []
    ends = time.monotonic() + seconds
    await asyncio.gather(*(_visit(number, address, ends, times, errors) for number in range(clients)))
    total = [one for each in times.values() for one in each]
    return {
        "clients": clients,
        "seconds": seconds,
        "requests": len(total),
        "errors": len(errors),
        "first_errors": errors[:3],
        "milliseconds": {
            "all": quantiles(total),
            **{name: quantiles(each) for name, each in sorted(times.items())},
        },
    }


def load(clients: int, seconds: float, *options: str) -> dict[str, Any]:
    """Many clients at once, and how much memory the server has before and after."""
    with started(*options) as (address, process):
        with visitor(address) as client:
            ready(client, address)
        before = process.memory_info().rss
        found = asyncio.run(_visits(address, clients, seconds))
        after = process.memory_info().rss
    return found | {"megabytes": {"before": before >> 20, "after": after >> 20}}


# --- all pages --------------------------------------------------------------------------------------------------------


def pages(*options: str) -> dict[str, Any]:
    """Milliseconds of each question that a page of a rule list asks, each for the first time."""
    with started(*options) as (address, process), visitor(address) as client:
        ready(client, address)
        return {name: _worked(client, process, what, params) for name, what, params in _questions(client)}


def _questions(client: httpx.Client) -> Iterator[tuple[str, str, dict[str, str]]]:
    """A name for each question, and what is asked; later ones are about what earlier ones found."""
    names = client.get("/api/v1/search", params={"q": "", "most": 50}).json()["names"]
    known = client.get("/api/v1").json()["questions"]
    yield "search", "search", {"q": names[20][:3]}
    for place, number in (("entity", 7), ("second entity", 11)):
        yield place, "entity", {"name": names[number]}
    yield "predictions", "predictions", {"head": names[9]}
    page = client.get("/api/v1/entity", params={"name": names[7]}).json()
    fact = next(group for group in page["facts"] if group["side"] == "tail" or group["names"])
    ends = (names[7], fact["names"][0]) if fact["side"] == "tail" else (fact["names"][0], names[7])
    yield "why of a fact", "why", {"head": ends[0], "relation": fact["relation"], "tail": ends[1]}
    found = client.get("/api/v1/predictions", params={"head": names[7]}).json()["predictions"]
    if found:
        yield "why of a link", "why", {name: found[0][name] for name in ("head", "relation", "tail")}
    yield "rules", "rules", {}
    yield "rules with a word", "rules", {"search": "a"}
    rule = client.get("/api/v1/rules", params={"most": 1}).json()["rules"][0]["rule"]
    yield "rule", "rule", {"rule": rule}
    yield "graph of rules", "rule-graph", {}
    for name in ("queue", "overview", "what-if", "training"):
        if name in known:
            yield name, name, {}


def _worked(
    client: httpx.Client, process: psutil.Process, what: str, params: dict[str, str]
) -> dict[str, float]:
    before = sum(process.cpu_times()[:2])
    clock, _ = _timed(client, what, params)
    return {"processor": round(1000 * (sum(process.cpu_times()[:2]) - before)), "clock": clock}


# --- effects ----------------------------------------------------------------------------------------------------------


def effects(*options: str) -> dict[str, Any]:
    """Milliseconds until the first rows of what the rejection of a rule changes, and until all of it is there."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with started(*options) as (address, process), visitor(address) as client:
        ready(client, address)
        client.get("/api/v1/queue")
        for rule in _rules_of(client):
            change = json.dumps({"kind": "reject-rule", "rule": rule})
            before, began, times = sum(process.cpu_times()[:2]), time.perf_counter(), []
            under_way = True
            while under_way:
                answer = client.get("/api/v1/effect", params={"change": change})
                answer.raise_for_status()
                under_way = answer.status_code == 202
                if not under_way or "part" in answer.json():
                    worked, passed = sum(process.cpu_times()[:2]) - before, time.perf_counter() - began
                    times.append({"processor": worked, "clock": passed})
            found["first rows"].append(times[0])
            found["whole"].append(times[-1])
    return {
        name: {measure: quantiles([one[measure] for one in each]) for measure in ("processor", "clock")}
        for name, each in found.items()
    } | {"rules": len(found["whole"])}


def _rules_of(client: httpx.Client) -> Iterator[str]:
    """Some rules of a list, and some about particular entities."""
    for about in ("paths", "entities"):
        asked = {"about": about, "most": "1"}
        count = client.get("/api/v1/rules", params=asked).json()["count"]
        for place in range(_EFFECTS if count else 0):
            start = {"start": str(place * count // _EFFECTS)}
            yield client.get("/api/v1/rules", params=asked | start).json()["rules"][0]["rule"]


# --- first answers ----------------------------------------------------------------------------------------------------


def first_answers(*options: str) -> dict[str, Any]:
    """Milliseconds of the first answer of each page after the load, and of a second entity."""
    with served(*options) as address:
        base = address.split("/?")[0]
        with httpx.Client(base_url=base, follow_redirects=True, timeout=120) as client:
            began = time.perf_counter()
            ready(client, address)
            loaded = time.perf_counter() - began
            names = client.get("/api/v1/search", params={"q": "", "most": 50}).json()["names"]
            found: dict[str, Any] = {"load_seconds": round(loaded, 1)}
            entity = {"name": names[7]}
            found["search"], _ = _timed(client, "search", {"q": names[20][:3]})
            found["entity"], page = _timed(client, "entity", entity)
            found["second entity"], _ = _timed(client, "entity", {"name": names[11]})
            if page["predicts"]:
                found["predictions"], told = _timed(client, "predictions", {"head": names[7]})
                some = (_timed(client, "predictions", {"head": name})[1]["predictions"] for name in names)
                row = next(rows for rows in (told["predictions"], *some) if rows)[0]
                triple = {name: row[name] for name in ("head", "relation", "tail")}
            else:
                group = page["derived"][0]
                ends = (
                    (names[7], group["names"][0])
                    if group["side"] == "tail"
                    else (group["names"][0], names[7])
                )
                triple = {"head": ends[0], "relation": group["relation"], "tail": ends[1]}
            found["why"], _ = _timed(client, "why", triple)
            return found


def _timed(client: httpx.Client, what: str, params: dict[str, str]) -> tuple[float, dict[str, Any]]:
    began = time.perf_counter()
    while (answer := client.get(f"/api/v1/{what}", params=params)).status_code == 202:
        time.sleep(0.05)
    milliseconds = round(1000 * (time.perf_counter() - began), 1)
    answer.raise_for_status()
    return milliseconds, answer.json()


# --- search -----------------------------------------------------------------------------------------------------------


def searches(count: int) -> dict[str, Any]:
    """A name of a million, letter by letter."""
    chance = random.Random(0)
    parts = [
        "ara",
        "bel",
        "cor",
        "dun",
        "el",
        "fen",
        "gar",
        "hol",
        "is",
        "jor",
        "kal",
        "lin",
        "mor",
        "nel",
        "or",
        "pel",
    ]
    with tempfile.TemporaryDirectory() as folder:
        facts, rules = Path(folder) / "facts.tsv", Path(folder) / "my.rules"
        names = [f"{''.join(chance.choices(parts, k=3))} {number}" for number in range(count)]
        facts.write_text(
            "".join(
                f"{one}\tknows\t{other}\n" for one, other in zip(names, names[1:] + names[:1], strict=True)
            )
        )
        rules.write_text("knows(X, Y) -> meets(X, Y)\n")
        with served(str(rules), str(facts)) as address:
            base = address.split("/?")[0]
            with httpx.Client(base_url=base, follow_redirects=True, timeout=120) as client:
                ready(client, address)
                times = []
                for name in chance.sample(names, 20):
                    for length in range(1, min(14, len(name)) + 1):
                        milliseconds, _ = _timed(client, "search", {"q": name[:length]})
                        times.append(milliseconds / 1000)
                return {"names": count, "key_strokes": len(times), "milliseconds": quantiles(times)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a model trained on FB15k-237-v1")
    parser.add_argument("--list", type=Path, help="a rule list of FB15k-237")
    parser.add_argument(
        "--large", type=Path, help="a folder with a generated graph, and a rule list in `list`"
    )
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    arguments = parser.parse_args()
    given = {
        "--model MODEL": arguments.model,
        "--list LIST": arguments.list,
        "--large FOLDER": arguments.large,
    }
    command = " ".join(["python -m benchmarks.explorer", *(name for name, path in given.items() if path)])
    about = {"command": command, **describe(PACKAGES)}
    about["load_average_before"] = [round(one, 1) for one in os.getloadavg()]  # of whatever else runs
    found: dict[str, Any] = {"about": about}
    found["load"] = load(arguments.clients, arguments.seconds, "families")
    print(found["load"])
    lists = {}
    if arguments.list is not None:
        lists["a rule list of FB15k-237"] = (str(arguments.list), "FB15k-237")
    if arguments.large is not None:
        lists["a rule list of a million generated facts"] = (
            str(arguments.large / "list"),
            str(arguments.large / "facts.parquet"),
        )
    found["pages"] = {name: pages(*options) for name, options in lists.items()}
    print(found["pages"])
    found["effects"] = {name: effects(*options) for name, options in lists.items()}
    print(found["effects"])
    found["load of lists"] = {
        name: load(arguments.clients, arguments.seconds, *options) for name, options in lists.items()
    }
    print(found["load of lists"])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "w2.rules").write_text(our_rules("W2"))
        found["first answers"] = {
            "WN18RR with the rules of W2": first_answers(f"{folder}/w2.rules", "WN18RR")
        }
    if arguments.model is not None:
        found["first answers"]["a model of FB15k-237-v1"] = first_answers(
            str(arguments.model), "FB15k-237-v1"
        )
    print(found["first answers"])
    found["search"] = searches(NAMES)
    print(found["search"])
    write_document(arguments.output, found)


if __name__ == "__main__":
    main()
