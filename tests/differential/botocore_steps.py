#!/usr/bin/env python3
"""Repeats on botocore's own rate limiter and quota what aws_steps prints: every decision, and every rate to 1e-9."""
import sys

try:
    from botocore.exceptions import CapacityNotAvailableError
    from botocore.retries import adaptive, bucket, quota, throttling
except ImportError:
    print("SKIPPED: there is no botocore (Debian: python3-botocore)")
    sys.exit(77)


class Clock:
    now = 0.0

    def current_time(self):
        return self.now


class Detector:
    def is_throttling_error(self, throttled):
        return throttled


clock = Clock()


def limiter_and_bucket():
    tokens = bucket.TokenBucket(max_rate=1, clock=clock)
    cubic = throttling.CubicCalculator(starting_max_rate=0, start_time=clock.now)
    return adaptive.ClientRateLimiter(cubic, adaptive.RateClocker(clock), tokens, Detector(), clock), tokens


def close(ours, theirs):
    return abs(ours - theirs) <= 1e-9 * max(1.0, abs(theirs))


def main():
    schedules = steps = refused = 0
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "end":
            if schedules != int(words[0]) or schedules < 100_000 or refused < schedules // 10:
                sys.exit(f"too little: {schedules} schedules, {refused} of {steps} steps refused")
            print(f"{schedules} schedules, {steps} steps, {refused} of them refused: all as botocore")
            return
        if kind == "schedule":
            schedules += 1
            clock.now = int(words[0]) / 1e9
            limiter, tokens = limiter_and_bucket()
            budget = quota.RetryQuota(int(words[1]))
            continue
        steps += 1
        if kind in ("withdraw", "deposit"):
            amount, taken, left = map(int, words)
            theirs = budget.acquire(amount) if kind == "withdraw" else budget.release(amount) is None
            same = theirs == taken and budget.available_capacity == left
            refused += not taken
        else:
            clock.now = int(words[0]) / 1e9
            if kind == "send":
                taken, left = words[1] == "1", float(words[2])
                theirs = True
                if limiter._enabled:
                    try:
                        tokens.acquire(block=False)
                    except CapacityNotAvailableError:
                        theirs = False
                # Ours counts tokens when it takes one only. A token that is there to the rounding may be taken or not.
                same = theirs == taken and (not taken or not limiter._enabled or close(left, tokens.available_capacity))
                refused += not taken
            else:
                limiter.on_receiving_response(throttled=kind == "throttle")
                theirs = tokens.max_rate, limiter._rate_clocker.measured_rate
                same = close(float(words[1]), theirs[0]) and close(float(words[2]), theirs[1])
        if not same:
            sys.exit(f"schedule {schedules}, {line.strip()}: botocore has {theirs}")
    sys.exit("no end: the schedules were cut short")


if __name__ == "__main__":
    main()
