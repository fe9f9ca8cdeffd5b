#!/usr/bin/env python3
"""Writes docs/measured/default-law.md: simulates for some minutes on two cores.

  docs/default_law.py                      writes them all
  docs/default_law.py --only company,trouble --seeds 3 --law seek,adaptive-rate
                                           prints these two, of other laws and with fewer seeds
  docs/default_law.py --long --only company
                                           … of the crowds after four hours
"""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import statistics
import subprocess
import tomllib

from which_law import FAMILIES, between, percent

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured" / "default-law.md"
SCENARIOS = ROOT / "scenarios"
TABLES = ["gates", "ablation", "parts", "families", "held-out", "company", "trouble"]
# Trouble is in a table of its own: most laws do not end there.
TROUBLES = ("poison", "noise", "rows", "failures", "closes", "gone", "ban", "slope", "sparse", "late", "overtaking", "own", "loop", "pauses", "cold")
HELD_OUT = sorted(p.stem for p in (SCENARIOS / "held-out").glob("*.toml") if p.stem.split("-")[0] not in TROUBLES)
# Where each part decides: a scenario that its constants were chosen on, one held out, and what it buys there.
DECIDES = {
    "slots": ("slots-100", "held-out/slots-6", "time"),
    "vacancy": ("no-burst-180", "held-out/no-burst-130", "time"),
    "drain": ("shared-4-gateway", "held-out/queue-10-endless", "time"),
    "periods": ("minute-20", "held-out/rate-8-a-minute", "refused"),
    "bans": ("ban-1min", "held-out/ban-20s", "time"),
    "failures": ("closes-failures", "held-out/change-overload", "time"),
    "confidence": ("stationary", "held-out/rate-700", "refused"),
    "company": ("crowds/rate-8", "held-out/crowds/sliding-5", "Jain"),
    "spurts": ("window-20-60s", "held-out/crowds/window-3", "refused"),
    "footholds": ("poison-many", "held-out/poison-third", "time"),
    "chance": ("noise-200", "held-out/noise-350", "time"),
    "demand": ("sparse-10", "held-out/sparse-30", "p99"),
    "excess": ("loop-4", "held-out/loop-30-a-minute", "refused"),
    "mixtures": ("crowds/noise-8", "held-out/crowds/noise-5", "Jain"),
    "depths": ("noise-200-burst-4", "held-out/noise-120-burst-5", "time"),
}
PARTS = list(DECIDES)
KNOBS = ["seek", "seek-start-10", "seek-start-40", "seek-waste-1", "seek-waste-6"]
RIVALS = ["reno-0.9", "cubic", "adaptive-rate", "aws-adaptive", "netflix-aimd", "exponential-full"]

# Clients that share a limit: scenario, options. Beside another law half of the limit is a fair share.
FLEETS = ["fleet-20", "fleet-100", "fleet-100x20", "held-out/crowd-40-cold"]
CROWDS = [
    *((name,) for name in FLEETS),
    *((f"{folder}/{p.stem}",) for folder in ("crowds", "held-out/crowds")
      for p in sorted((SCENARIOS / folder).glob("*.toml")) if p.stem != "rival"),
    *((name, "--sweep", f"clients.1.law={law}") for name in ("crowds/rival", "held-out/crowds/rival")
      for law in ("seek", "adaptive-rate", "aws-adaptive", "reno-0.9", "cubic", "exponential-full")),
]
# What is refused or late for other reasons than the client's own pace: scenario, options.
TROUBLE = [
    ("poison-1",), ("poison-8",), ("poison-first",), ("poison-tokens",), ("poison-many",), ("held-out/poison-3",),
    ("held-out/poison-40",), ("held-out/poison-third",), ("held-out/poison-window",), ("held-out/poison-tokens",),
    *(("rows-30", "--sweep", f"clients.poisoned={count}") for count in (17, 85, 255)),
    ("held-out/rows-12",), ("held-out/rows-60",),
    *((f"noise-{rate}", "--sweep", f"misread={share}%") for rate in (50, 200, 1000) for share in (1, 3, 10)),
    ("noise-50", "--sweep", "misread=20%"),
    ("held-out/noise-80",), ("held-out/noise-350",), ("held-out/noise-700",), ("held-out/noise-slots",),
    *(("unrelated-500s-15", "--sweep", f"failures={share}%") for share in (5, 15, 30)),
    ("failures-1000",), ("held-out/failures-60",), ("held-out/rate-300-failures",),
    *((f"{folder}closes-{name}",) for folder, names in (("", ("30", "window", "second", "slots", "bad", "failures")),
                                                       ("held-out/", ("12", "150", "window", "second", "slots", "bad", "failures")))
      for name in names),
    ("rate-50-3s",), ("rate-50-6s",), ("rate-8-20s",), ("rate-167-10s",), ("held-out/rate-12-5s",),
    ("held-out/rate-35-10s",), ("gone-1min",), ("gone",), ("gone-30min",), ("held-out/gone-2min",),
    ("held-out/gone-20min",), ("held-out/rate-30-silent",), ("ban",), ("ban-30s",), ("ban-30s-hints",), ("ban-1min",),
    ("held-out/ban-15s",), ("held-out/ban-20s",), ("overtaking-500",), ("held-out/overtaking-300",), ("slots-1",), ("slots-2",), ("slots-3",), ("held-out/slots-4",), ("held-out/slots-5",),
    ("held-out/slots-6",), ("binds",), ("held-out/change-binds",), ("slope-20",), ("held-out/slope-8",),
    ("own-rate-140",), ("own-rate-misread",), ("held-out/own-rate-33",),
    ("late-rate",), ("late-slots",), ("held-out/late-400",), ("held-out/late-workers",),
    *((f"sparse-{n}",) for n in (1, 5, 10, "cron")), *((f"held-out/sparse-{n}",) for n in ("2", "30", "minute")),
    ("loop-4",), ("loop-20-sliding",), ("held-out/loop-30-a-minute",),
    ("pauses-20",), ("pauses-200",), ("held-out/pauses-30",), ("held-out/pauses-70",), ("cold-20",), ("held-out/cold-14",),
    ("counter-100-10s",), ("held-out/counter-500-60s",), ("queue-4-endless",), ("held-out/queue-10-endless",),
    ("shared-4",), ("shared-8-exponential",), ("shared-4-gateway",), ("held-out/shared-16",), ("held-out/shared-2-gateway",),
    ("minute-60-short",), ("held-out/minute-40-short",),
]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("headway", nargs="?", default=str(ROOT / "build" / "headway"))
    parser.add_argument("--only", help="print these tables, of " + ", ".join(TABLES))
    parser.add_argument("--law", default="seek", help="of company and trouble")
    parser.add_argument("--seeds", type=int, help="of company (5) and trouble (9)")
    parser.add_argument("--long", action="store_true", help="crowds last four hours")
    return parser.parse_args()


ARGS = arguments()
HEADWAY = ARGS.headway


def simulate(scenarios, laws, seeds, *options, events_max=5_000_000):
    """scenario title -> law -> {"median": …, "p90": …, "runs": […]}"""
    out = subprocess.run(
        [HEADWAY, "simulate", *scenarios, "--law", ",".join(laws), "--seeds", str(seeds), "--json", "-",
         "--events-max", str(events_max), *options], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return {s["title"]: {r["law"]: r for r in s["laws"] if "median" in r} for s in json.loads(out)["scenarios"]}


def held_out(names):
    return [str(SCENARIOS / "held-out" / f"{n}.toml") for n in names]


SECONDS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}


def seconds(text):
    number, unit = re.fullmatch(r"([\d.]+)([a-z]*)", text).groups()
    return float(number or 1) * SECONDS[unit]


def read(name):
    return tomllib.loads((SCENARIOS / f"{name}.toml").read_text())


def capacity(name):
    """Requests a second that the server admits, of a scenario with one limit that does not change."""
    scenario = read(name)
    kind, value = scenario["limit"].split(",")[0].split("=")
    if kind == "concurrent":
        latency = re.findall(r"\d+(?:\.\d+)?m?s", scenario["latency"])
        return int(value) / statistics.mean(map(seconds, latency))
    count, period = value.split("/")
    return float(count) / seconds(period if period[0].isdigit() else "1" + period)


def short(number):
    return "∞" if math.isinf(number) else f"{number:.2f}" if number < 99.5 else f"{number:.0f}"


def worst(values, kind):
    """The median, and the worst in brackets; nothing of shares that were not compared."""
    if kind == "share" and all(v == 1 for v in values):
        return ""
    bad = max if kind in ("times", "refused") else min
    show = percent if kind in ("refused", "used") else short
    return f"{show(statistics.median(values))} ({show(bad(values))})"


def company(laws, seeds, long):
    rows = ["| scenario | law | time ÷ (requests ÷ limit) | refused | used of the limit | Jain | smallest share |",
            "|---|---|---:|---:|---:|---:|---:|"]
    for name, *options in CROWDS:
        lasts = ["--sweep", "lasts=4h"] if long else []
        (_, found), = simulate([name], laws, seeds, *options, *lasts, events_max=200_000_000).items()
        title = " ".join([name, *options[1:]])
        for law in laws:
            if law not in found:
                rows.append(f"| {title} | {law} | – | | | | | |")
                continue
            runs = found[law]["runs"]
            shares = [used(name, r) for r in runs]
            columns = [("times", [1 / max(u, 1e-9) for u in shares]), ("refused", [r["throttled_share"] for r in runs]),
                       ("used", shares), ("share", [r["jain_late"] for r in runs]),
                       ("share", [r["smallest_share"] for r in runs])]
            rows.append(f"| {title} | {law} | " + " | ".join(worst(v, k) for k, v in columns) + " |")
    return "\n".join(rows)


def trouble(laws, seeds):
    rows = ["| scenario | law | time ÷ told | refused | given up | half within | slowest hundredth "
            "| attempts at one poisoned |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for name, *options in TROUBLE:
        (_, found), = simulate([name], laws, seeds, *options).items()
        title = " ".join([name, *options[1:]])
        for law in laws:
            if law not in found:
                rows.append(f"| {title} | {law} | – | | | | | |")
                continue
            runs, median = found[law]["runs"], found[law]["median"]
            times = worst([ratio(r) for r in runs], "times")
            if "requests" in read(name)["clients"] and not all(r["finished"] for r in runs):
                times = "> " + times
            rows.append(f"| {title} | {law} | {times} | {worst([r['throttled_share'] for r in runs], 'refused')} "
                        f"| {median['given_up']:.0f} | {median['p50_s']:.2f} s | {median['p99_s']:.2f} s "
                        f"| {median['poisoned_most'] or ''} |")
    return "\n".join(rows)


def ratio(run):
    """Completion as a multiple of the limit-known sender's; also where the scenario has no end."""
    return run["times_told"] or math.inf


@dataclasses.dataclass
class Goal:
    """What is asked of a scenario, or of each value of a sweep: medians of the seeds, and (worst) of the worst seed."""

    scenario: str
    time: float = math.inf  # completion, in multiples of `of`
    worst: float = math.inf
    refused: float = 1  # share of attempts
    jain: float = 0  # of the whole run
    jain_worst: float = 0
    used: float = 0  # of the limit
    least: float = 0  # share of the slowest client in the last five minutes, as a multiple of an equal one
    sweep: tuple = ()
    of: str = "told"  # "limit": requests ÷ limit; "s": seconds; "clairvoyant": seed 003's sender that knows all

    def runs(self):
        """Title -> the runs of its seeds."""
        options = [o for s in self.sweep for o in ("--sweep", s)]
        found = simulate([self.scenario], ["seek"], 31, *options, events_max=400_000_000)
        return {title: laws["seek"]["runs"] for title, laws in found.items()}

    def unit(self, run):
        if self.of == "limit":
            return run["done"] / capacity(self.scenario)
        return {"told": run["completion_s"] / ratio(run), "s": 1,
                "clairvoyant": CLAIRVOYANT.get(self.scenario.split("/")[-1])}[self.of]

    def figures(self, runs):
        """Name -> (of each seed, asked of the median, asked of the worst seed, is more better)."""
        return {
            "time": ([r["completion_s"] / self.unit(r) for r in runs], self.time, self.worst, False),
            "refused": ([r["throttled_share"] for r in runs], self.refused, 1, False),
            "Jain": ([r["jain"] for r in runs], self.jain, self.jain_worst, True),
            "used": ([used(self.scenario, r) for r in runs] if self.used else [1], self.used, 0, True),
            "least": ([r["smallest_share"] for r in runs], self.least, 0, True),
        }


def used(name, run):
    """Share of the limit's capacity that a run used."""
    return run["done"] / run["completion_s"] / capacity(name)


CLAIRVOYANT = {"seed-003": 20.149, "seed-003-2pct": 20.149, "seed-003-long": 200.149, "seed-003-exponential": 20.149}
SLOW = "latency=" + ";".join(f"lognormal={s}s,cv={cv}" for s in (3, 6, 10, 20) for cv in (0.05, 0.6))
FIVE_MINUTES = "lasts=5min"
GOALS = [
    Goal("seed-003", 1.07, refused=0.01, of="clairvoyant"), Goal("seed-003-2pct", 1.07, refused=0.01, of="clairvoyant"),
    Goal("seed-003-exponential", 1.2, refused=0.022, of="clairvoyant"),
    Goal("seed-003-long", 1.02, refused=0.006, of="clairvoyant"),
    *(Goal(f"slots-{n}", 1.1, refused=0.05) for n in (1, 2, 3)),
    *(Goal(f"held-out/slots-{n}", 1.1, refused=0.05) for n in (4, 5, 6)),
    *(Goal(f"slots-{n}", 1.15, refused=0.04) for n in (8, 100, 500)),
    Goal("emr", 1.02, refused=0.025), Goal("bucket-50-5ms", 1.02, refused=0.015),
    Goal("bucket-50-50ms", 1.02, refused=0.015), Goal("bucket-50-200ms", 1.02, refused=0.015),
    Goal("bucket-200-workers", 1.02, refused=0.015), Goal("bucket-10000", 1.02, refused=0.015),
    *(Goal(f"no-burst-{n}", 1.08, refused=0.015) for n in (10, 50, 200)),
    *(Goal(f"minute-{n}", 1.15, refused=0.1) for n in (3, 20, 60)),
    Goal("cliff-500", 1.03, refused=0.04), Goal("cliff-3000", 1.03, refused=0.04),
    *(Goal(f"window-{w}", 1.1, refused=0.04) for w in ("300-60s", "1000-600s", "50-1s")),
    *(Goal(f"window-{w}-hints", refused=0.01) for w in ("300-60s", "1000-600s", "50-1s")),
    *(Goal(f"window-{w}-remaining", refused=0) for w in ("300-60s", "1000-600s", "50-1s")),
    Goal("sliding-50-1s", 1.1, refused=0.03), Goal("sliding-300-60s", 1.1, refused=0.03), Goal("costs", 1.1, refused=0.04),
    Goal("llm-rate", 1.05, refused=0.02), Goal("llm-slots", 1.05, refused=0.02), Goal("llm-mixed", 1.05, refused=0.02),
    Goal("open-50", refused=0), Goal("open-90", refused=0), Goal("stationary", 1.005, 1.005, 0.0015),
    Goal("steps-rate", 1.06, refused=0.04), Goal("steps-slots", 1.2, refused=0.04), Goal("held-out/change-rate", 1.4),
    Goal("outage", 1.12, refused=0.025), Goal("latency-x10", 1.1), Goal("queueing", 1.02),
    Goal("overload-500s", 1.12, refused=0.02), Goal("overload-timeouts", 1.12, refused=0.02),
    Goal("binds", 1.05, refused=0.03), Goal("held-out/change-binds", 1.05, refused=0.03),
    # A: always refused requests
    Goal("poison-1", 1.1), Goal("poison-8", 1.1), Goal("poison-first", 1.1, sweep=("clients.poisoned=3,8",)),
    Goal("held-out/poison-40", 1.1),
    # B: refusals by chance, failures of another kind
    *(Goal(f"noise-{rate}", 1.25, 1.6, share / 100 + 0.015, sweep=(f"misread={share}%",))
      for rate in (50, 200, 1000) for share in (1, 3, 10)),
    *(Goal(f"held-out/noise-{of}", 1.25, 1.6) for of in ("80", "350", "700", "slots")), Goal("misread", 1.12, refused=0.02),
    Goal("unrelated-500s-15", 1.15, sweep=("limit=rate=20/s,burst=4;rate=100/s,burst=20", "failures=5%,15%")),
    Goal("failures-1000", 1.15, sweep=("failures=5%,15%",)),
    Goal("gone-1min", 1.1), Goal("gone", 1.1), Goal("gone-30min", 1.1),
    # C: answers of seconds
    Goal("rate-8-20s", 1.1, 1.3, 0.01, sweep=(SLOW,)), Goal("rate-50-6s", 1.1, 1.3, 0.01, sweep=(SLOW,)),
    Goal("rate-167-10s", 1.1, 1.3, 0.01, sweep=(SLOW,)),
    # D: several clients of the same law
    *(goal for n, soon, later, refused in ((2, 0.95, 0.985, 0.005), (4, 0.95, 0.985, 0.007), (8, 0.95, 0.985, 0.011),
                                           (32, 0.9, 0.975, 0.03), (100, 0.8, 0.95, 0.07))
      for goal in (Goal(f"crowds/rate-{n}", jain=soon, jain_worst=0.88 if n <= 8 else 0, sweep=(FIVE_MINUTES,), of="limit"),
                   Goal(f"crowds/rate-{n}", jain=later, refused=refused, used=0.995, least=0.3, of="limit"))),
    *(goal for name, soon, later, refused, share in (
        ("rate-fast-8", 0.97, 0.99, 0.011, 0), ("slots-8", 0.95, 0.99, 0.011, 0), ("slots-32", 0.92, 0.985, 0.011, 0),
        ("sliding-8", 0.95, 0.99, 0.011, 0), ("window-8", 0.9, 0.95, 0.025, 0.95))
      for goal in (Goal(f"crowds/{name}", jain=soon, sweep=(FIVE_MINUTES,), of="limit"),
                   Goal(f"crowds/{name}", jain=later, refused=refused, used=share, of="limit"))),
    Goal("crowds/rate-slow-8", jain=0.9, refused=0.07, of="limit"), Goal("crowds/ways-8", jain=0.95, refused=0.011, of="limit"),
    Goal("crowds/noburst-8", jain=0.8, refused=0.2, used=0.2, of="limit"),
    *(Goal(f"crowds/rate-{n}", jain=jain, refused=refused + share / 100 + 0.01, used=0.9 * (1 - share / 100),
           sweep=(f"misread={share}%",), of="limit")
      for n, jain, refused in ((8, 0.935, 0.011), (32, 0.925, 0.03), (100, 0.9, 0.07)) for share in (1, 3)),
    *(Goal(f"crowds/batch-{n}", 1.2, 1.5, 0.04, of="limit") for n in (2, 4, 8)),
    Goal("fleet-20", 400, refused=0.2, of="s"), Goal("fleet-100", 180, refused=0.2, of="s"),
    Goal("fleet-100x20", 40, refused=0.2, of="s"), Goal("held-out/crowd-40-cold", 165, refused=0.2, of="s"),
    Goal("crowds/at-once-400", 80, refused=0.3, of="s"),
    Goal("clients-10", refused=0.04), Goal("clients-100", refused=0.18), Goal("emr-rival", refused=0.05),
]


def exact(share):
    return f"{100 * share:.2f} %" if share < 0.0995 else f"{100 * share:.1f} %"


def asked(figure, values, median, bad, more):
    """A cell: the median (the worst seed), and what is asked of them; whether it holds; nothing where nothing is asked."""
    show = exact if figure in ("refused", "used") else lambda x: f"{x:.3f}" if x < 9.995 else f"{x:.0f}"
    at_worst = (min if more else max)(values)
    middle = statistics.median(values)
    text = f"{show(middle)} ({show(at_worst)})"
    if median == (0 if more else 1 if figure == "refused" else math.inf):
        return (text if figure in ("time", "refused") else ""), True
    holds = (middle >= median - 5e-4 and at_worst >= bad) if more else (middle <= median + 5e-4 and at_worst <= bad + 5e-4)
    scale = 100 if show is exact else 1
    limit = f"{'≥' if more else '≤'} {scale * median:g}" + (f" ({scale * bad:g})" if bad not in (0, 1, math.inf) else "")
    return f"{text} {limit}{'' if holds else ' ✗'}", holds


def gates():
    rows = ["| scenario | time | refused | Jain | used | slowest client |", "|---|---:|---:|---:|---:|---:|"]
    met = total = 0
    for goal in GOALS:
        for title, runs in goal.runs().items():
            cells = {name: asked(name, *figure) for name, figure in goal.figures(runs).items()}
            held = all(holds for _, holds in cells.values())
            met, total = met + held, total + 1
            rows.append(f"| {title.replace('|', '')}{'' if held else ' ✗'} | " + " | ".join(text for text, _ in cells.values()) + " |")
    rows += ["", f"{met} of {total} rows hold; ✗ marks the others. Beside each figure what is asked, and in brackets the worst of "
             "31 seeds."]
    return "\n".join(rows)


def mean_regret(found, names, law):
    """Geometric mean of the time as a multiple of told's, but at least 1, and the mean throttled share."""
    runs = [found[n][law]["median"] if law in found[n] else None for n in names]
    logs = [math.log(min(max(ratio(r), 1), 100)) if r else math.log(100) for r in runs]
    return math.exp(sum(logs) / len(logs)), sum(r["throttled_share"] if r else 1 for r in runs) / len(runs)


def cell(found, names, law):
    regret, share = mean_regret(found, names, law)
    return f"{regret:.3f} · {percent(share)}"


def ablation(tuned, fresh):
    rows = ["| law | tuned on (" + str(sum(map(len, FAMILIES.values()))) + f") | held out ({len(fresh)}) "
            "| worst of the held-out ones |", "|---|---:|---:|---|"]
    every = [n for names in FAMILIES.values() for n in names]
    for law in ["seek", *(f"seek-no-{p}" for p in PARTS), *RIVALS]:
        worst = max(fresh, key=lambda n: ratio(fresh[n][law]["median"]) if law in fresh[n] else 100)
        times = ratio(fresh[worst][law]["median"]) if law in fresh[worst] else math.inf
        rows.append(f"| {law} | {cell(tuned, every, law)} | {cell(fresh, list(fresh), law)} "
                    f"| {worst} {'does not end' if math.isinf(times) else f'{times:.2f}'} |")
    return "\n".join(rows)


def decides():
    shown = {
        "time": lambda r: f"{short(ratio(r))} of told",
        "refused": lambda r: percent(r["throttled_share"]) + " refused",
        "Jain": lambda r: f"Jain {r['jain_late']:.2f}",
        "p99": lambda r: f"slowest hundredth {r['p99_s']:.2f} s",
    }
    rows = ["| part | scenario | without | with | held out | without | with |", "|---|---|---:|---:|---|---:|---:|"]
    for part, (*names, buys) in DECIDES.items():
        cells = []
        for name in names:
            (_, found), = simulate([name], ["seek", f"seek-no-{part}"], ARGS.seeds or 9, events_max=20_000_000).items()
            cells += [name, *(shown[buys](found[law]["median"]) if law in found else "–" for law in (f"seek-no-{part}", "seek"))]
        rows.append(f"| {part} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def families(tuned):
    rows = ["| family | " + " | ".join(KNOBS) + " | chosen on the other five | gives |",
            "|---|" + "---:|" * len(KNOBS) + "---|---:|"]
    cost = {(f, law): math.log(mean_regret(tuned, names, law)[0]) + 2 * mean_regret(tuned, names, law)[1]
            for f, names in FAMILIES.items() for law in KNOBS}
    for family, names in FAMILIES.items():
        others = [f for f in FAMILIES if f != family]
        chosen = min(KNOBS, key=lambda law: max(cost[f, law] for f in others))
        rows.append(f"| {family} | " + " | ".join(cell(tuned, names, law) for law in KNOBS) +
                    f" | {chosen} | {cell(tuned, names, chosen)} |")
    return "\n".join(rows)


def held(fresh):
    shown = ["seek", *RIVALS]
    rows = ["| scenario | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    for name in fresh:
        cells = [f"{short(ratio(fresh[name][l]['median']))} · {percent(fresh[name][l]['median']['throttled_share'])}"
                 if l in fresh[name] else "–" for l in shown]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def tables(names):
    """name -> text"""
    laws, texts = ARGS.law.split(","), {}
    if "gates" in names:
        texts["gates"] = gates()
    if {"ablation", "families", "held-out"} & set(names):
        parts = [f"seek-no-{p}" for p in PARTS]
        every = sorted({n for names in FAMILIES.values() for n in names})
        tuned = simulate(every, sorted({*KNOBS, *parts, *RIVALS}), 9)
        fresh = simulate(held_out(HELD_OUT), ["seek", *parts, *RIVALS], 9)
        texts |= {"ablation": ablation(tuned, fresh), "families": families(tuned), "held-out": held(fresh)}
    if "parts" in names:
        texts["parts"] = decides()
    if "company" in names:
        texts["company"] = company(laws, ARGS.seeds or 5, ARGS.long)
    if "trouble" in names:
        texts["trouble"] = trouble(laws, ARGS.seeds or 9)
    return texts


def main():
    if ARGS.only:
        names = ARGS.only.split(",")
        texts = tables(names)
        print("\n\n".join(texts[name] for name in names))
        return
    page = PAGE.read_text()
    for name, text in tables(TABLES).items():
        page = between(page, name, text)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
