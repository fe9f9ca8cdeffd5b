"""headway mock as a server; unless told otherwise it counts requests and tokens as OpenAI does."""
import re
import subprocess
import tempfile
from pathlib import Path

from work import BINARY


class Mock:
    """headway mock with these options, while the block lasts."""

    def __init__(self, *options, style="openai"):
        self.options = "--style", style, *options

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._log = Path(self._folder.name, "log")
        self._process = subprocess.Popen(
            [BINARY, "mock", "--listen", "127.0.0.1:0", "--log", self._log, *self.options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = re.search(r"http://\S+", self._process.stdout.readline()).group()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.communicate()
        self._folder.cleanup()

    def log(self):
        """(arrival in seconds, status, tokens charged if it counts them) of each attempt."""
        lines = (line.split() for line in self._log.read_text().splitlines())
        return [(float(f[0]), int(f[3]), sum(map(int, f[6:]))) for f in lines]
