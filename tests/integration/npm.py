"""Servers that npm fetched (npm/package-lock.json); a test of theirs that cannot run says so, loudly."""
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import log
from servers import Server, closed_port

HERE = Path(__file__).resolve().parent / "npm"
FETCHED = Path(os.environ.get("HEADWAY_NPM", "/nowhere"), "node_modules")


def require_fetched():
    """Exit 77, which ctest lists as skipped, where npm fetched nothing."""
    if not FETCHED.is_dir():
        print("SKIPPED, nothing is tested: no npm packages (Debian: nodejs npm, then build again)")
        sys.exit(77)


@contextlib.contextmanager
def node(*arguments):
    """The program with these packages, and its standard output; it dies with the thread that started it."""
    command = ["setpriv", "--pdeathsig", "KILL", "node", *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "NODE_PATH": str(FETCHED)},
    ) as process:
        try:
            yield process.stdout
        finally:
            process.terminate()


class Limited(Server):
    """An application behind express-rate-limit."""

    def __init__(self, port, folder, mode):
        super().__init__(port, folder)
        self.mode = mode

    def log(self):
        return log.read(self.folder / f"{self.mode}.log", unit=0.001)


@contextlib.contextmanager
def express_rate_limit(limit, window_ms):
    """Applications by the mode of their headers."""
    with tempfile.TemporaryDirectory() as folder:
        with node(HERE / "express.js", window_ms, limit, folder) as said:
            told = (next(said).split() for _ in range(4))
            yield {mode: Limited(int(port), Path(folder), mode) for mode, port in told}


@contextlib.contextmanager
def logging(program, *arguments):
    """npm/PROGRAM.js, which takes the folder of its log as the last argument."""
    with tempfile.TemporaryDirectory() as folder:
        with node(HERE / f"{program}.js", *arguments, folder) as said:
            yield Limited(int(next(said)), Path(folder), program)


@contextlib.contextmanager
def dynalite():
    """DynamoDB, as far as dynalite is: its port."""
    with closed_port() as port:  # it takes port 0 for its default
        pass
    with node(FETCHED / "dynalite/cli.js", "--port", port, "--createTableMs", 1) as said:
        yield int(next(said).rsplit(":", 1)[1])
