"""Each `headway run`, `headway exec` and `headway mock` of the documents, as it stands there: with --dry-run, and for half a second."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = """#!/bin/sh
echo tried >> "$HOME/tried"
case $1 in
  run) exec "$HEADWAY_BINARY" "$@" --dry-run ;;
  exec) shift; exec "$HEADWAY_BINARY" exec --dry-run "$@" ;;
  mock) case "$*" in *--listen*) ;; *) set -- "$@" --listen 127.0.0.1:0 ;; esac
    timeout -s TERM 0.5 "$HEADWAY_BINARY" "$@" || [ $? = 124 ] ;;
esac
"""
JOBS = {  # what docs/run.md speaks of and does not show
    "jobs.jsonl": '{"url": "https://api.example/1"}\n',
    "prompts.csv": "prompt\nhello\n",
    "users.jsonl": '{"name": "ada"}\n',
    "user.json": '{"user": {{name}}}',
    "ids.csv": "item\n1\n",
    "requests.jsonl": '{"model": "m", "input": "a text", "metadata": {"row": 1}}\n',
    "batch.jsonl": '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}\n',
    "targets.json": '{"method": "POST", "url": "https://api.example/v1/x", "body": "eyJhIjoxfQ==", "header": {"X-A": ["1"]}}\n',
}


def commands(document):
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    return [block for block in blocks if re.search(r"\bheadway (run|exec|mock) ", block)]


class Guide(unittest.TestCase):
    def tries(self, document, least, files):
        found = commands(document)
        self.assertGreaterEqual(len(found), least)
        for block in found:
            with self.subTest(block), tempfile.TemporaryDirectory() as home:
                for name, text in {**files, "headway": HEADWAY, "build/headway": HEADWAY}.items():
                    Path(home, name).parent.mkdir(exist_ok=True)
                    Path(home, name).write_text(text)
                for program in Path(home).rglob("*"):
                    program.chmod(0o755)
                done = subprocess.run(
                    ["sh", "-ec", block], cwd=home, capture_output=True, text=True, timeout=60,
                    env={"PATH": f"{home}:/usr/bin:/bin", "HOME": home, "API_KEY": "k", "AWS_ACCESS_KEY_ID": "a",
                         "AWS_SECRET_ACCESS_KEY": "s", "HEADWAY_BINARY": os.environ["HEADWAY_BINARY"]})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(Path(home, "tried").exists(), "no headway in it")

    def test_the_guide(self):
        self.tries("docs/guide.md", 5, {})

    def test_run(self):
        self.tries("docs/run.md", 6, JOBS)

    def test_exec(self):
        program = "#!/bin/sh\n"
        self.tries("docs/exec.md", 3, {
            **{name: program for name in ("aws", "gh", "mine", "rsync", "claude")},
            "ids.txt": "j-1\nj-2\n", "hosts.txt": "a\n", "repos.csv": "owner,repo\no,r\n",
            "prompts.jsonl": '{"prompt": "hello"}\n',
        })

    def test_watching(self):
        self.tries("docs/watching.md", 1, JOBS)

    def test_the_readme_and_testing(self):
        self.tries("README.md", 2, JOBS)
        self.tries("docs/testing.md", 1, {})


if __name__ == "__main__":
    unittest.main()
