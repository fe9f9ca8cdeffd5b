"""Members of a fleet: processes of headway that share one limit by a database, and what nginx's log says of them."""
import contextlib
import os
import re
import signal
import time
from pathlib import Path

import servers
from work import BINARY, Work

LONG = "HEADWAY_LONG" in os.environ
RATE = 200


def limit(rate=RATE, burst=20, **how):
    return servers.limit_req(rate, f"burst={burst} nodelay; limit_req_status 429", **how)


def slots(many=20, latency_ms=100):
    return servers.nginx(
        f"limit_conn all {many}; limit_conn_status 429;",
        "limit_conn_zone $binary_remote_addr zone=all:1m;",
        latency_ms=(latency_ms, latency_ms),
    )


def another_version(folder):
    """headway as if it were of another build: it knows the states of its own kind alone."""
    program = Path(BINARY).read_bytes()
    (law,) = set(re.findall(rb"hw[SL]([0-9a-f]{13})", program))
    other = Path(folder, "headway")
    other.write_bytes(program.replace(law, law[::-1]))
    other.chmod(0o755)
    return other


class Member:
    def __init__(self, number, work, process):
        self.number = number
        self.work = work
        self.process = process

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Members(list):
    """As many runs with `jobs` requests each, in folders and states of their own."""

    def __init__(self, stack, server, url, many, jobs, *options, command="run"):
        super().__init__()
        self.stack, self.server, self.url, self.jobs, self.options = stack, server, url, jobs, options
        for _ in range(many):
            self.add()

    def add(self, **how):
        number = len(self)
        work = self.stack.enter_context(Work(f"{self.server.url}/{number}/{n}" for n in range(self.jobs)))
        options = ("--limit-at", self.url, "--cold", "--quiet", *self.options)
        member = Member(number, work, work.start(*options, XDG_RUNTIME_DIR=str(work.path), **how))
        self.stack.callback(member.kill)
        self.append(member)
        return member

    def finish(self, seconds=300):
        for m in self:
            assert m.process.wait(seconds) == 0, m.work.stderr()


@contextlib.contextmanager
def members(server, url, many, jobs, *options):
    with contextlib.ExitStack() as stack:
        yield Members(stack, server, url, many, jobs, *options)


def number_of(request):
    return int(request.path.split("/")[1])


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(s * s for s in shares))


class Steady:
    """What a log says of the time from `after` seconds on, until the first member has nothing left to do."""

    def __init__(self, log, many, after=3):
        ok = log.accepted()
        self.begin = min(r.start for r in log) + after
        self.end = min(max(r.end for r in ok if number_of(r) == i) for i in range(many))
        within = [r for r in ok if self.begin <= r.end < self.end]
        shares = [sum(number_of(r) == i for r in within) for i in range(many)]
        self.seconds = self.end - self.begin
        self.rate = len(within) / self.seconds
        self.jain = jain(shares)

    def __str__(self):
        return f"{self.rate:.1f}/s over {self.seconds:.1f} s, Jain {self.jain:.4f}"


def by_second(log, begin, end):
    """How many were accepted in each second."""
    counts = [0] * int(end - begin)
    for r in log.accepted():
        if begin <= r.end < begin + len(counts):
            counts[int(r.end - begin)] += 1
    return counts


def refused(log, begin=0, end=float("inf")):
    return sum(begin <= r.end < end for r in log.throttled())
