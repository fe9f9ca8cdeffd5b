"""Each row of docs/texts.md runs: as it stands there, but with 8 clusters, one seed, and a server of its own.

HEADWAY_LONG=1 has 1,000 clusters and the seeds of the rows: it is what the table of the contenders is made of.
"""
import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from work import BINARY, measured

ROOT = Path(__file__).resolve().parents[2]
LONG = bool(os.environ.get("HEADWAY_LONG"))
CLUSTERS = 1000 if LONG else 8
TEXT = (ROOT / "docs/texts.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", TEXT, re.M)
CONTENDERS = [row for row in ROWS if row[2].startswith("headway run")]
SERVER = next(shlex.split(command)[1:] for _, _, command in ROWS if command.startswith("headway mock"))
LOOP = re.search(r"```sh\n(coproc .*?)```", TEXT, re.S)[1]
JITTERS = Path(BINARY).parent / "examples/example_jitters"


def run_in(folder, words):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=7200 if LONG else 120,
                          env={**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder})
    assert done.returncode == 0, done.stderr
    return done.stdout


def contend(item, folder, options, others=True, one_by_one=False):
    """`headway run` on a server of its own, by whose log it is measured."""
    log = Path(folder, "log")
    server = SERVER if others else SERVER[: SERVER.index("--others")]
    with subprocess.Popen([BINARY, *server, "--listen", "127.0.0.1:0", "--log", log],
                          stdout=subprocess.PIPE, text=True) as mock:
        try:
            url = re.search(r"http://\S+", mock.stdout.readline()).group()
            Path(folder, "clusters.jsonl").write_text("".join(json.dumps({
                "id": str(i), "url": f"{url}/", "body": {"ClusterId": f"j-{i:06}"},
                "headers": {"X-Amz-Target": "ElasticMapReduce.DescribeCluster"}}) + "\n" for i in range(CLUSTERS)))
            words = [BINARY, "run", *options, "--cold", "--alone", "--progress", "none"]
            if one_by_one:
                words[2] = "-"
                results = run_in(folder, ["bash", "-c", LOOP.replace("headway run …", shlex.join(map(str, words)))])
            else:
                run_in(folder, [*words, "--out", "out.jsonl"])
                results = Path(folder, "out.jsonl").read_text()
        finally:
            mock.terminate()
            rivals = re.search(r"(\d+) requests of others: (\d+) throttled", mock.communicate()[0])
    found = [json.loads(line)["body"]["Cluster"]["Id"] for line in results.splitlines()]
    assert len(found) == len(set(found)) == CLUSTERS, found
    lines = [line.split() for line in log.read_text().splitlines()]
    took = max(float(f[0]) + float(f[5]) / 1000 for f in lines) - float(lines[0][0])
    refused = sum(f[3] != "200" for f in lines)
    of_others = f"{100 * int(rivals[2]) / int(rivals[1]):.0f} %" if rivals else "–"
    measured(f"| {item} | {took:.0f} s | {len(lines):,} | {100 * refused / len(lines):.1f} % | {of_others} |")


def simulate(item, folder, options):
    said = run_in(folder, [BINARY, "simulate", *options, *([] if LONG or "--seeds" in options else ["--seeds", "1"])])
    measured(f"{item}\n{said}")
    for law in re.findall(r"[a-z-]+\([^)]*\)|[a-z][a-z0-9.-]+", options[options.index("--law") + 1]):
        assert f"\n{law} " in said, (law, said)
    if "--report" in options:
        page = Path(folder, options[options.index("--report") + 1]).read_text()
        assert ('"delays":[' if "delay" in options[0] else '"ssthresh":[') in page


def jitters(item, folder, options):
    assert run_in(folder, [JITTERS]).count("sleep: ") == 15


def contend_all():
    """(item, what contends), of all that contend at once; with HEADWAY_LONG also without the others."""
    for text, item, command in CONTENDERS:
        options = shlex.split(command)[2:]
        loops = "exponential" in command  # the text's client waits as a whole
        for others in (True, False) if LONG else (True,):
            for one_by_one in ({True} if LONG else {False, True}) if loops else {False}:
                title = item + (", one call at a time" if one_by_one else "") + ("" if others else ", alone")
                yield f"{text}: {item}", partial(contend, title, options=options, others=others, one_by_one=one_by_one)


def work_all():
    for text, item, command in ROWS:
        program, *rest = shlex.split(command)
        if program.endswith("example_jitters"):
            yield f"{text}: {item}", partial(jitters, item, options=rest)
        elif rest[0] == "simulate":
            yield f"{text}: {item}", partial(simulate, item, options=rest[1:])


def check(row):
    """What is wrong with it, or None."""
    item, runs = row
    with tempfile.TemporaryDirectory() as folder:
        try:
            runs(folder=folder)
        except (AssertionError, KeyError, subprocess.TimeoutExpired) as wrong:
            return f"{item}: {wrong!r}"


class Texts(unittest.TestCase):
    def test_each_row(self):
        self.assertGreaterEqual(len(ROWS), 17)
        self.assertEqual(len({text for text, _, _ in ROWS}), 4)
        contending, working = list(contend_all()), list(work_all())
        self.assertEqual({row[0] for row in contending + working} | {f"{text}: {item}" for text, item, c in ROWS if c.startswith("headway mock")},
                         {f"{text}: {item}" for text, item, _ in ROWS}, "a row that nothing runs")
        with ThreadPoolExecutor(len(contending)) as mostly_wait, ThreadPoolExecutor(2) as compute:
            found = [*mostly_wait.map(check, contending), *compute.map(check, working)]
        self.assertEqual([wrong for wrong in found if wrong], [])


if __name__ == "__main__":
    unittest.main()
