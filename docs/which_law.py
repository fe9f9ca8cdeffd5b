#!/usr/bin/env python3
"""Writes docs/measured/which-law.md and the plots of docs/plots from scenarios/golden.

  docs/which_law.py            writes them
  docs/which_law.py --check    fails if they are not what the golden results say
"""

import json
import math
import pathlib
import statistics
import sys

DOCS = pathlib.Path(__file__).resolve().parent
GOLDEN = DOCS.parent / "scenarios" / "golden"
PAGE = DOCS / "measured" / "which-law.md"

FAMILIES = {
    "rate": ["emr", "bucket-50-5ms", "bucket-50-50ms", "bucket-50-200ms", "bucket-200-workers", "bucket-10000",
             "no-burst-10", "no-burst-50", "no-burst-180", "no-burst-200", "minute-60", "llm-rate", "stationary"],
    "slots": ["seed-003", "seed-003-2pct", "seed-003-20pct", "seed-003-exponential", "seed-003-long", "slots-2",
              "slots-8", "slots-100", "slots-500", "llm-slots", "streaming"],
    "windows": ["window-50-1s", "window-300-60s", "window-1000-600s", "sliding-50-1s", "sliding-300-60s"],
    "crowds": ["clients-10", "clients-100", "fleet-20", "fleet-100", "fleet-100x20", "aws-shared"],
    "change": ["steps-rate", "steps-early", "steps-slots", "outage", "latency-x10", "seed-003-drift", "suspended"],
    "trouble": ["misread", "unrelated-500s", "lost-replies", "lying-hints", "overload-500s", "costs"],
}
LAWS = ["seek", "reno-0.9", "cubic", "adaptive-rate", "aws-adaptive", "netflix-aimd", "netflix-gradient2",
        "auto-sleeper", "exponential-full"]
PLOTS = {
    "seed-003": "50 slots, 2,000 requests",
    "bucket-50-50ms": "50 requests a second",
    "emr": "4 requests a second",
    "clients-10": "10 clients on 50 slots",
}


def results(scenario):
    """law -> (completion as a multiple of the limit-known sender's, throttled share), medians of the seeds."""
    laws = json.loads((GOLDEN / f"{scenario}.json").read_text())
    told = laws["told"]
    found = {}
    for law, runs in laws.items():
        if not isinstance(runs, dict):
            continue
        ratios = [
            time / told_time * told_done / max(done, 1)
            for time, done, told_time, told_done in zip(
                runs["completion_s"], runs["done"], told["completion_s"], told["done"])
        ]
        shares = [t / max(a, 1) for t, a in zip(runs["throttled"], runs["attempts"])]
        found[law] = statistics.median(ratios), statistics.median(shares)
    return found


def percent(share):
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def family_table():
    rows = ["| law | " + " | ".join(FAMILIES) + " |", "|---|" + "---:|" * len(FAMILIES)]
    for law in LAWS:
        cells = []
        for scenarios in FAMILIES.values():
            measured = [r[law] for r in map(results, scenarios) if law in r]
            missing = len(scenarios) - len(measured)
            if not measured:
                cells.append("–")
                continue
            ratio = math.exp(statistics.mean(math.log(r) for r, _ in measured))
            cells.append(f"{ratio:.2f} · {percent(statistics.mean(w for _, w in measured))}"
                         + (f" ({missing} missing)" if missing else ""))
        rows.append(f"| {law} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def scenario_table():
    shown = ["seek", "reno-0.9", "aws-adaptive", "exponential-full"]
    rows = ["| scenario | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    for path in sorted(GOLDEN.glob("*.json")):
        found = results(path.stem)
        cells = [f"{found[l][0]:.2f} · {percent(found[l][1])}" if l in found else "–" for l in shown]
        rows.append(f"| {path.stem} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def plot(scenario, title):
    """Throttled share (square root, so that small ones show) over completion; the best is bottom left."""
    found = results(scenario)
    laws = [l for l in LAWS if l in found]
    most = min(max(found[l][0] for l in laws) * 1.05, 3)
    width, height, left, bottom, top = 560, 320, 66, 272, 40
    x = lambda ratio: left + (min(ratio, most) - 0.95) / (most - 0.95) * (width - left - 20)
    y = lambda share: bottom - math.sqrt(share) * (bottom - top)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-size="12" '
        'font-family="system-ui, sans-serif">',
        f"<title>{title}: time and throttled attempts of each law</title>",
        "<style>text{fill:#24292f}.a{stroke:#8c959f}.o{fill:#0969da}.p{fill:#8c959f}.t{font-weight:600}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{stroke:#6e7681}.o{fill:#58a6ff}.p{fill:#8b949e}}</style>",
        f'<text class="t" x="{left}" y="20">{title}</text>',
        f'<path class="a" fill="none" d="M{left} {top}V{bottom}H{width - 12}"/>',
        f'<text x="{(width + left) / 2:.0f}" y="{height - 10}" text-anchor="middle">'
        "time, as a multiple of a sender that is told the limit</text>",
        f'<text x="16" y="{(top + bottom) / 2:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 16 {(top + bottom) / 2:.0f})">attempts throttled</text>',
    ]
    for share in (0, 0.01, 0.1, 0.5, 1):
        out.append(f'<text x="{left - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{share * 100:.0f} %</text>')
    step = 0.1 if most < 1.6 else 0.5
    tick = 1.0
    while tick <= most:
        out.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:.1f}</text>')
        tick += step
    points = {law: (x(found[law][0]), y(found[law][1])) for law in laws}
    boxes = [(cx - 6, cy - 6, cx + 6, cy + 6) for cx, cy in points.values()]
    for law in sorted(laws, key=lambda l: (l != "seek", found[l][0])):
        cx, cy = points[law]
        kind, radius = ("o", 6) if law == "seek" else ("p", 4)
        out.append(f'<circle class="{kind}" cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}"/>')
        wide = 7 * len(law)
        from_x = cx - 9 - wide if cx > width - 130 else cx + 9

        def clear(box):
            return all(box[2] <= b[0] or b[2] <= box[0] or box[3] <= b[1] or b[3] <= box[1] for b in boxes)

        places = [(from_x, cy + dy - 6, from_x + wide, cy + dy + 6) for dy in (0, -13, -26, -39, 13)]
        box = next(filter(clear, places), places[0])
        boxes.append(box)
        weight = ' class="t"' if law == "seek" else ""
        anchor = f'x="{cx - 9:.1f}" text-anchor="end"' if from_x < cx else f'x="{cx + 9:.1f}"'
        out.append(f'<text{weight} {anchor} y="{(box[1] + box[3]) / 2 + 4:.1f}">{law}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def between(page, name, text):
    begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    head, rest = page.split(begin)
    rest = "\n" + rest
    return head + begin + text + end + rest.split(end)[1]


def main():
    page = PAGE.read_text()
    page = between(between(page, "families", family_table()), "scenarios", scenario_table())
    wanted = {PAGE: page}
    for scenario, title in PLOTS.items():
        wanted[DOCS / "plots" / f"{scenario}.svg"] = plot(scenario, title)
    if sys.argv[1:] == ["--check"]:
        stale = [str(p) for p, text in wanted.items() if not p.exists() or p.read_text() != text]
        if stale:
            sys.exit("not what scenarios/golden says: " + ", ".join(stale) + "; docs/which_law.py writes them")
        return
    for path, text in wanted.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
