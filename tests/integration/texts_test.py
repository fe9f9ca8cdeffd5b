"""Each row of docs/texts.md runs: as it stands there, but with 8 clusters, and a server on a port of its own."""
import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

from work import BINARY, measured

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS = 8
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", (ROOT / "docs/texts.md").read_text(), re.M)


class Texts(unittest.TestCase):
    def run_in(self, folder, words):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_each_row(self):
        self.assertGreaterEqual(len(ROWS), 17)
        self.assertEqual(len({text for text, _, _ in ROWS}), 4)
        with tempfile.TemporaryDirectory() as folder:
            server = None
            try:
                for text, item, command in ROWS:
                    words = shlex.split(command)
                    with self.subTest(f"{text}: {item}"):
                        if words[0].endswith("example_jitters"):
                            example = Path(BINARY).parent / "examples/example_jitters"
                            self.assertEqual(self.run_in(folder, [example]).count("sleep: "), 15)
                        elif words[1] == "mock":
                            server = subprocess.Popen([BINARY, *words[1:], "--listen", "127.0.0.1:0"],
                                                      stdout=subprocess.PIPE, text=True)
                            url = re.search(r"http://\S+", server.stdout.readline()).group()
                            Path(folder, "clusters.jsonl").write_text("".join(json.dumps({
                                "id": str(i), "url": f"{url}/", "body": {"ClusterId": f"j-{i:06}"},
                                "headers": {"X-Amz-Target": "ElasticMapReduce.DescribeCluster"}}) + "\n"
                                for i in range(CLUSTERS)))
                        elif words[1] == "run":
                            out = Path(folder, "out.jsonl")
                            for left in Path(folder).glob("*.headway*"):
                                left.unlink()
                            out.unlink(missing_ok=True)
                            self.run_in(folder, [BINARY, *words[1:], "--cold", "--alone", "--out", out])
                            found = [json.loads(line)["body"]["Cluster"]["Id"] for line in out.read_text().splitlines()]
                            self.assertEqual(len(found), CLUSTERS)
                        else:
                            said = self.run_in(folder, [BINARY, *words[1:]])
                            measured(f"{item}\n{said}")
                            for law in re.findall(r"[a-z-]+\([^)]*\)|[a-z][a-z0-9.-]+", words[words.index("--law") + 1]):
                                self.assertIn(f"\n{law} ", said)
                        if "--report" in words:
                            page = Path(folder, words[words.index("--report") + 1]).read_text()
                            self.assertIn('"delays":[' if "delay" in command else '"ssthresh":[', page)
            finally:
                if server:
                    server.terminate()
                    server.communicate()


if __name__ == "__main__":
    unittest.main()
