"""What a server's access log says. Times in seconds; a request starts with its first byte there."""
from collections import Counter
from typing import NamedTuple

THROTTLED = (429, 503)


class Request(NamedTuple):
    start: float
    end: float
    status: int
    method: str
    path: str
    credential: str


class Log(list):
    """Requests in the order of their ends."""

    def accepted(self):
        return Log(r for r in self if r.status == 200)

    def throttled(self):
        return Log(r for r in self if r.status in THROTTLED)

    def twice(self):
        """Paths that were accepted more than once."""
        return [
            path for path, count in Counter(r.path for r in self.accepted()).items() if count > 1
        ]

    def starts(self):
        return sorted(r.start for r in self)

    def seconds(self):
        """From the first arrival to the last accepted answer."""
        return max(r.end for r in self.accepted()) - min(r.start for r in self)

    def share(self, limit, burst):
        """Accepted, of what could be in that time: `limit` a second, and the burst once."""
        return len(self.accepted()) / (limit * self.seconds() + burst)

    def throttled_share(self):
        return len(self.throttled()) / len(self)

    def peak_in_flight(self):
        flying = peak = 0
        ends = [(max(r.end, r.start + 0.0005), -1) for r in self]  # an instant is in flight, too
        for _, change in sorted([(r.start, 1) for r in self] + ends):
            flying += change
            peak = max(peak, flying)
        return peak

    def busiest(self, span):
        """The most arrivals in any `span` seconds (half open)."""
        starts, first, most = self.starts(), 0, 0
        for i, start in enumerate(starts):
            while start - starts[first] >= span - 1e-6:  # the log has whole milliseconds
                first += 1
            most = max(most, i - first + 1)
        return most

    def p95(self):
        """Of the time that requests took."""
        times = sorted(r.end - r.start for r in self)
        return times[int(0.95 * (len(times) - 1))]


def read(path, unit=1.0):
    """Of lines «end duration status method path [credential]», times in `unit` seconds."""
    log = Log()
    for line in path.read_text().splitlines():
        end, duration, status, method, path, *credential = line.split(" ", 5)
        end = float(end) * unit
        start = end - float(duration) * unit
        log.append(
            Request(round(start, 3), round(end, 3), int(status), method, path, "".join(credential))
        )
    return log
