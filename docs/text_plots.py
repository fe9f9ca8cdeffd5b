#!/usr/bin/env python3
"""Draws docs/plots of the texts: what headway simulate makes of their servers, beside the default law.

usage: text_plots.py HEADWAY [--check]   --check writes nothing, and fails where a plot is another
"""
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PLOTS = Path(__file__).resolve().parent / "plots"
SKIPPED = 77  # this build has no report page
GRAPH = ("auto-sleeper(initial=1ms,max=15min,max-randomization=2min,up=1.5,down=0.6,randomization=0,threshold=5)")
JITTERS = {
    "no backoff": "backoff(constant,wait=0s)",
    "exponential": "backoff(exponential,first=5ms,cap=2s)",
    "equal jitter": "backoff(equal,base=5ms,cap=2s)",
    "full jitter": "backoff(full,base=5ms,cap=2s)",
    "decorrelated jitter": "backoff(decorrelated,base=5ms,cap=2s)",
}
COLOURS = ["#0969da", "#cf222e", "#1a7f37", "#bf8700", "#8250df", "#57606a"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 62, 16, 56, 256


def simulated(headway, scenario, laws, *options, seeds=1):
    """Every scenario of the report's own data, its laws by name."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        done = subprocess.run([headway, "simulate", scenario, "--law", ",".join(laws), "--seeds", str(seeds),
                               "--report", page, *options], capture_output=True, text=True, check=False)
        if "has no report page" in done.stderr:
            sys.exit(SKIPPED)
        if done.returncode:
            sys.exit(done.stderr)
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)[1]
    found = json.loads(data)["scenarios"]
    for scenario in found:
        scenario["laws"] = {law["law"]: law for law in scenario["laws"]}
    return found


def curve(scenario, law, what):
    """[(seconds, value)] of a law's timeline."""
    line, step = scenario["laws"][law]["line"], scenario["step"]
    return [(min((i + 1) * line["each"], line["moments"]) * step, v)
            for i, v in enumerate(line[what]) if v is not None]


def marks(least, most, log):
    """Where an axis has its numbers."""
    if log:
        return [10**k for k in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]
    unit = 10 ** math.floor(math.log10(most / 4))
    step = next(unit * n for n in (1, 2, 5, 10) if most / (unit * n) <= 6)
    return [step * i for i in range(int(most / step) + 1)]


def drawing(title, across, up, curves, dots=(), log=False):
    """An SVG of `curves` {name: [(x, y)]} and `dots` [(name, colour, [(x, y)])]."""
    points = [p for line in [*curves.values(), *(d[2] for d in dots)] for p in line if p[1] > 0 or not log]
    far = max(x for x, _ in points)
    least, most = min(y for _, y in points), max(y for _, y in points)
    ticks = marks(least, most, log)
    low, high = (ticks[0], max(ticks[-1], most)) if log else (0, most * 1.04)

    def place(x, y):
        share = math.log(y / low) / math.log(high / low) if log else y / high
        return f"{LEFT + x / far * (WIDTH - LEFT - RIGHT):.1f} {BOTTOM - share * (BOTTOM - TOP):.1f}"

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-size="12" '
        'font-family="system-ui, sans-serif">',
        f"<title>{title}</title>",
        "<style>text{fill:#24292f}.a{stroke:#8c959f;fill:none}.t{font-weight:600}path.c{fill:none;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{stroke:#6e7681}}</style>",
        f'<text class="t" x="{LEFT}" y="18">{title}</text>',
        f'<path class="a" d="M{LEFT} {TOP}V{BOTTOM}H{WIDTH - RIGHT}"/>',
        f'<text x="{(WIDTH + LEFT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{across}</text>',
        f'<text x="14" y="{(TOP + BOTTOM) / 2:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 14 {(TOP + BOTTOM) / 2:.0f})">{up}</text>',
    ]
    for tick in ticks:
        if low <= tick <= high:
            y = place(0, tick).split()[1]
            out.append(f'<text x="{LEFT - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in marks(0, far, False):
        x = place(tick, high).split()[0]
        out.append(f'<text x="{x}" y="{BOTTOM + 16}" text-anchor="middle">{tick:g}</text>')
    names, at = [(n, COLOURS[i % len(COLOURS)]) for i, n in enumerate(curves)] + [d[:2] for d in dots], LEFT
    for name, colour in names:
        out.append(f'<rect x="{at}" y="30" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{at + 14}" y="39">{name}</text>')
        at += 26 + 7 * len(name)
    for i, line in enumerate(curves.values()):
        shown = [place(x, y) for x, y in line if y > 0 or not log]
        out.append(f'<path class="c" stroke="{COLOURS[i % len(COLOURS)]}" d="M{"L".join(shown)}"/>')
    for _, colour, cloud in dots:
        for x, y in cloud:
            if y > 0 or not log:
                cx, cy = place(x, y).split()
                out.append(f'<circle cx="{cx}" cy="{cy}" r="2.2" fill="{colour}"/>')
    return "\n".join([*out, "</svg>"]) + "\n"


def delays(headway):
    found = simulated(headway, "texts/delay-graph", [GRAPH, "seek"])[0]["laws"]
    for name, law, title in (("delay", GRAPH, "the responsive backoff"), ("delay-default", "seek", "the default law")):
        points = list(zip(found[law]["delays"], found[law]["served"]))
        clouds = [(word, colour, [(i + 1, d) for i, (d, served) in enumerate(points) if bool(served) == which])
                  for word, colour, which in (("served", COLOURS[0], True), ("refused", COLOURS[1], False))]
        yield name, drawing(f"Delay after each request: {title}", "request", "ms", {}, clouds, log=True)


def rates(headway):
    laws = {"exponential backoff": "exponential-full", "congestion window": "reno-0.9", "default law": "seek"}
    found = simulated(headway, "texts/requests-and-money", list(laws.values()))[0]
    curves = {name: curve(found, law, "attempts") for name, law in laws.items()}
    for name, log in (("request-rate", False), ("request-rate-log", True)):
        yield name, drawing("2,000 requests against 50 slots: attempts a second", "seconds", "a second", curves, log=log)


def attempts(headway):
    laws = {"exponential backoff": "exponential-full", "congestion window": "reno-0.9", "default law": "seek"}
    counts = (100, 500, 1000, 2000, 3000, 4000, 5000)
    found = simulated(headway, "texts/requests-and-money", list(laws.values()),
                      "--sweep", f"clients.requests={','.join(map(str, counts))}")
    curves = {name: [(n, s["laws"][law]["figures"]["attempts"]["median"]) for n, s in zip(counts, found)]
              for name, law in laws.items()}
    yield "attempts", drawing("Attempts that so many operations take", "operations", "attempts", curves)


def windows(headway):
    for name, cut in (("window-0.9", "0.9"), ("window-0.5", "0.5")):
        law = f"reno(cut={cut})"
        found = simulated(headway, "texts/requests-and-money", [law])[0]
        slow_start = 1024  # ssthresh begins above the picture
        curves = {what: [(x, y) for x, y in curve(found, law, key) if y < slow_start]
                  for what, key in (("cwnd", "window"), ("ssthresh", "ssthresh"))}
        yield name, drawing(f"The congestion window, cut to {cut}", "seconds", "requests", curves)


def contest(headway):
    counts = range(10, 200, 20)
    found = simulated(headway, "texts/contest", list(JITTERS.values()),
                      "--sweep", f"contest.writers={','.join(map(str, counts))}", seeds=25)
    for name, figure, up in (("contest-calls", "attempts", "calls"), ("contest-time", "completion", "seconds")):
        curves = {word: [(n, s["laws"][law]["figures"][figure]["median"]) for n, s in zip(counts, found)]
                  for word, law in JITTERS.items()}
        yield name, drawing(f"Writers of one row: {up}", "writers", up, curves)


def main():
    headway, check = sys.argv[1], sys.argv[2:] == ["--check"]
    stale = []
    for figure in (delays, rates, attempts, windows, contest):
        for name, text in figure(headway):
            file = PLOTS / f"text-{name}.svg"
            if check and (not file.exists() or file.read_text() != text):
                stale.append(str(file))
            elif not check:
                file.write_text(text)
    if stale:
        sys.exit("not what headway simulate gives: " + ", ".join(stale) + "; docs/text_plots.py writes them")


if __name__ == "__main__":
    main()
