"""headway run, started as users start it: a folder with JOBS, and what comes of them."""
import json
import os
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BINARY = os.environ.get("HEADWAY_BINARY", Path(__file__).resolve().parents[2] / "build/headway")

RUNTIME = tempfile.TemporaryDirectory()  # where runs of one test share their pace


class Work:
    """A folder (in `within`) with jobs.txt of `lines`, gone when the block ends."""

    def __init__(self, lines=(), within=None):
        self._folder = tempfile.TemporaryDirectory(dir=within)
        self.path = Path(self._folder.name)
        self.write(lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def write(self, lines):
        Path(self.path, "jobs.txt").write_text("".join(line + "\n" for line in lines))

    def start(self, *options, jobs="jobs.txt", **how):
        """The process; it dies with the thread that started it."""
        return self.launch("run", jobs, *options, **how)

    def launch(self, *arguments, stdin=subprocess.DEVNULL, stderr=None, prlimit=(), binary=BINARY, **environment):
        """headway with these arguments, likewise. `stderr`: a terminal in the place of the file."""
        command = ["prlimit", *prlimit, "setpriv", "--pdeathsig", "KILL", binary, *arguments]
        with open(self.path / "stdout", "wb") as out, open(self.path / "stderr", "wb") as err:
            return subprocess.Popen(
                command,
                cwd=self.path,
                stdin=stdin,
                stdout=out,
                stderr=err if stderr is None else stderr,
                env={**self.environment(), **environment},
            )

    def environment(self):
        """What every run of it sees."""
        return {
            **os.environ,
            "XDG_STATE_HOME": str(self.path / "state"),
            "XDG_RUNTIME_DIR": RUNTIME.name,
        }

    def run(self, *options, timeout=120, **how):
        """The exit code."""
        return self.wait(self.start(*options, **how), timeout)

    def wait(self, process, timeout=120):
        """The exit code."""
        with process:
            try:
                return process.wait(timeout)
            finally:
                process.kill()

    def exec(self, *arguments, timeout=120, **how):
        """The exit code of headway exec, which shows no progress."""
        process = self.launch("exec", "--progress", "none", *arguments, **how)
        return self.wait(process, timeout)

    def stdout(self):
        return Path(self.path, "stdout").read_bytes()

    def stderr(self):
        return Path(self.path, "stderr").read_text()

    def results(self):
        """Of whole lines only: a run that was killed may have left half a line."""
        file = Path(self.path, "jobs.results.jsonl")
        whole = file.read_text().rpartition("\n")[0] if file.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    def outcomes(self):
        """Outcome by id; every id once."""
        results = self.results()
        twice = [id for id, count in Counter(r["id"] for r in results).items() if count > 1]
        assert not twice, f"in the results twice: {twice}"
        return {r["id"]: r["outcome"] for r in results}


class Abreast(unittest.TestSuite):
    """Tests that mostly wait, some at once. Others of the module are to come first: they start what all share."""

    def run(self, result, debug=False):
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(lambda test: test(result), self))
        return result


def gets(server, count):
    """Lines that are URLs; the path is the line's number, hence the id."""
    return [f"{server.url}/{i}" for i in range(1, count + 1)]


def post(server, id, **more):
    """A line that must not be sent twice, to a path that is its id."""
    return json.dumps({"id": id, "url": f"{server.url}/{id}", "body": {"n": 1}, **more})


def mixed(server, count, name=""):
    """Every other one is a POST: not to be sent again once it may have been carried out."""
    for i in range(count):
        if i % 2:
            yield post(server, f"post{name}{i}")
        else:
            yield json.dumps({"id": f"get{name}{i}", "url": f"{server.url}/get{name}{i}"})


def whole_lines(path):
    """In the order of the file, without what a kill has left of the last one."""
    return path.read_bytes().rpartition(b"\n")[0].splitlines()


def succeeded(count):
    """The outcomes of as many lines without an id."""
    return {str(i): "success" for i in range(1, count + 1)}


def wait_for(what, seconds=10):
    """Polls until `what` is true of the world."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def cpu_seconds(pid):
    """That a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(text):
    """A line that CI's log shows."""
    print("measured:", text, flush=True)
