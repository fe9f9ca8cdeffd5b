"""Each command of docs/guide.md, as it stands there, with --dry-run: nothing in it is wrong, nothing is sent."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide.md"


class Guide(unittest.TestCase):
    def test_every_command(self):
        commands = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
        self.assertGreaterEqual(len(commands), 5)
        for command in commands:
            with self.subTest(command=command), tempfile.TemporaryDirectory() as folder:
                tried = Path(folder, "headway")
                tried.write_text(f'#!/bin/sh\necho tried > tried\nexec "{os.environ["HEADWAY_BINARY"]}" "$@" --dry-run\n')
                tried.chmod(0o755)
                done = subprocess.run(
                    ["sh", "-ec", command], cwd=folder, capture_output=True, text=True, timeout=60,
                    env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": folder, "API_KEY": "k",
                         "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(Path(folder, "tried").exists(), "no headway in it")


if __name__ == "__main__":
    unittest.main()
