#!/usr/bin/env python3
"""Writes docs/measured/fleets.md: each scenario of one client, and its work by a fleet of 10 and of 100 members.

  docs/fleets.py                                 writes it, in some minutes
  docs/fleets.py --seeds 1 noise-200 slots-8     prints the table of these
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tomllib

from which_law import percent

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "fleets.md"
MEMBERS = (10, 100)
WORK_LEAST = 20  # requests of a member: those of a fleet that has hardly begun say nothing of it
MOST = 1.15      # of one client's time


def one_client(scenario):
    clients = scenario.get("clients", {})
    return isinstance(clients, dict) and clients.get("count", 1) == 1 and "requests" in clients and "fleet" not in scenario


def has_no_burst(scenario):
    limits = scenario.get("limit", [])
    limits = limits if isinstance(limits, list) else [limits]
    return bool(limits) and all(text.startswith("rate=") and "burst=" not in text for text in limits)


def simulate(headway, scenarios, seeds, *options):
    """scenario -> (seconds, share refused), medians of the seeds; None where a seed does not end."""
    out = subprocess.run(
        [headway, "simulate", *scenarios, "--law", "seek", "--seeds", str(seeds), "--json", "-", *options],
        check=True, capture_output=True, text=True, cwd=ROOT).stdout
    found = {}
    for scenario in json.loads(out)["scenarios"]:
        law = next((law for law in scenario["laws"] if "median" in law), None)
        ended = law and all(run["finished"] for run in law["runs"])
        found[scenario["scenario"]] = (law["median"]["completion_s"], law["median"]["throttled_share"]) if ended else None
    return found


def cell(found, alone):
    if found is None:
        return "does not end", ""
    seconds, refused = found
    return f"{seconds / alone:.2f}{' ✗' if seconds / alone > MOST else ''}", percent(refused)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--headway", default=str(ROOT / "build" / "headway"))
    parser.add_argument("--seeds", type=int, default=9)
    wanted = parser.parse_args()
    all_of_them = {p.stem: tomllib.loads(p.read_text()) for p in sorted((ROOT / "scenarios").glob("*.toml"))}
    names = [n for n, s in all_of_them.items() if one_client(s) and n in (wanted.scenarios or all_of_them)]
    found = {1: simulate(wanted.headway, names, wanted.seeds)}
    names = [n for n in names if found[1][n]]
    for members in MEMBERS:
        enough = [n for n in names if all_of_them[n]["clients"]["requests"] >= WORK_LEAST * members]
        found[members] = simulate(wanted.headway, enough, wanted.seeds, "--sweep", f"fleet.members={members}", "--sweep", "fleet.round-trip=5ms") if enough else {}
    rows = ["| scenario | one client, refused | 10 members | refused | 100 members | refused |", "|---|---:|---:|---:|---:|---:|"]
    ratios = {members: [] for members in MEMBERS}
    for n in names:
        alone, refused = found[1][n]
        columns = []
        for members in MEMBERS:
            if n not in found[members]:
                columns += ["", ""]
                continue
            columns += cell(found[members][n], alone)
            if not has_no_burst(all_of_them[n]):
                ratios[members].append(found[members][n][0] / alone if found[members][n] else float("inf"))
        if any("✗" in c or "end" in c for c in columns) or (any(columns) and has_no_burst(all_of_them[n])):
            rows.append(f"| {n}{' (no burst)' if has_no_burst(all_of_them[n]) else ''} | {percent(refused)} | {' | '.join(columns)} |")
    words = [f"{members} members: {sum(r <= MOST for r in those)} of {len(those)} within {MOST}, median {statistics.median(those):.2f}, "
             f"worst {max(those):.2f}." for members, those in ratios.items() if those]
    table = "\n".join(rows)
    if wanted.scenarios:
        print(table, *words, sep="\n")
        return
    PAGE.write_text(f"""# Fleets, measured

Written by `docs/fleets.py` in virtual time; [the page that reads it](../fleet.md#how-big-it-may-get). The default law, 5 ms to the board,
medians of {wanted.seeds} seeds: time as a multiple of what one client takes for the same work, where a member has {WORK_LEAST} requests at least.
The table has those above {MOST}, and limits without any burst, which are not counted: no two hosts agree on the time to less than
the way to the database.

{chr(10).join(words)}

{table}
""")


if __name__ == "__main__":
    main()
