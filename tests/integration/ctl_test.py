"""headway ctl: a run that lives is asked and told; nginx's log says when it obeyed."""
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import servers
from money_test import COST, METERED
from proxy import Proxy
from replay_test import replay
from work import BINARY, Work, cpu_seconds, gets, measured, succeeded, wait_for, whole_lines

CHANGES = int(os.environ.get("HEADWAY_CHANGES", "24"))


def ctl(work, *words, **environment):
    """(exit code, standard output, standard error)."""
    done = subprocess.run(
        [BINARY, "ctl", *map(str, words)],
        env={**work.environment(), **environment},
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stdout, done.stderr


class Line:
    """A connection to the socket of a run, or of another surface."""

    def __init__(self, folder, pid, surface="run"):
        self.path = Path(folder, "headway", f"{surface}-{pid}.sock")
        wait_for(self.path.exists)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(self.path))
        self.file = self.socket.makefile("rw")

    def say(self, do, **more):
        self.file.write(json.dumps({"do": do, **more}) + "\n")
        self.file.flush()
        return json.loads(self.file.readline())


class Runtime(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runtime = folder.name

    def started(self, work, *options):
        """A run with a folder of its own, and a connection to it."""
        run = work.start(*options, XDG_RUNTIME_DIR=self.runtime)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run, Line(self.runtime, run.pid)

    def ctl(self, work, *words):
        return ctl(work, *words, XDG_RUNTIME_DIR=self.runtime)


class Ctl(Runtime):
    def test_lists_explains_changes_and_ends_a_run(self):
        with servers.nginx(latency_ms=(20, 20)) as server, Work(gets(server, 3000)) as work:
            run, line = self.started(work, "--rate", "50/s", "--trace", "trace")
            wait_for(lambda: len(server.log()) > 20)
            code, out, error = self.ctl(work)
            self.assertEqual(code, 0, error)
            self.assertRegex(out, rf"(?m)^{run.pid} +run +jobs.txt  \d+ / 3000 ")
            for number, state in ((1, "ended"), (2999, "waits in the queue|not read yet")):
                self.assertRegex(self.ctl(work, run.pid, "explain", number)[1], f"line {number}: ({state})")
            for words, said in {
                ("rate", "5/s"): "rate 5/s",
                ("scope", "127.*", "concurrency", "3"): "scope 127.* concurrency 3",
                ("leave", "20%"): "leave 20%",
            }.items():
                self.assertEqual(self.ctl(work, run.pid, *words), (0, f"run {run.pid}: {said}\n", ""))
            for words, said in {
                ("rate", "x"): "rate 'x'",
                ("fly",): '"fly" is not one of status, explain, pause',
                ("pause", "now"): "pause wants no value",
                ("scope", "elsewhere*", "pause"): 'no scope matches "elsewhere*"; there is 127.0.0.1:',
                ("explain", "0"): "want the number of a line, from 1",
                ("leave", "99%"): "want 0% to 95%",
            }.items():
                with self.subTest(words):
                    code, out, error = self.ctl(work, run.pid, *words)
                    self.assertEqual((code, out, error.count("\n")), (2, "", 1), error)
                    self.assertIn(said, error)
            self.assertEqual(self.ctl(work, run.pid, "stop")[0], 0)
            self.assertEqual(run.wait(20), 75, work.stderr())
            self.assertRegex(work.stderr(), r"after .* s: rate 5/s\nafter .* s: scope 127\.\* concurrency 3\n")
            self.assertIn("stopped by headway ctl: run the same command again", work.stderr())
            code, said = replay(work)
            self.assertEqual(code, 0, said)
            code, out, error = self.ctl(work, run.pid, "pause")
            self.assertEqual((code, error), (2, f'headway: no run "{run.pid}" lives; there is none\n'))
            self.assertEqual(os.listdir(Path(self.runtime, "headway")), [])

    def test_a_concurrency_that_was_an_option_is_taken_back(self):
        with servers.nginx(latency_ms=(100, 100)) as server, Work(gets(server, 100)) as work:
            run, line = self.started(work, "--concurrency", "2")
            wait_for(lambda: len(server.log()) > 10)
            self.assertTrue(line.say("concurrency", value="off")["ok"])
            self.assertEqual(run.wait(60), 0, work.stderr())
            log = server.log()
        out = max(sum(other.start <= one.start < other.end for other in log) for one in log)
        self.assertGreater(out, 4)

    def test_a_rate_that_is_lifted_above_the_limit_leaves_it_in_use(self):
        """Answers come at once: what was sent before does not tell the limit, nor does a row that the new rate spreads."""

        def used(before, after):
            limit = servers.limit_req(100, "burst=20 nodelay; limit_req_status 429", latency_ms=(0, 0))
            with limit as server, Work(gets(server, 6 * before + 1000)) as work:
                run, line = self.started(work, "--rate", f"{before}/s")
                wait_for(lambda: len(server.log()) >= 6 * before)
                self.assertTrue(line.say("rate", value=after)["ok"])
                self.assertEqual(run.wait(60), 0, work.stderr())
                done = sorted(r.start for r in server.log() if r.status == 200)[-900:]
            return 900 / (done[-1] - done[0]) / 100

        with ThreadPoolExecutor() as pool:
            runs = {words: pool.submit(used, *words) for words in ((20, "off"), (60, "200/s"))}
        for words, share in runs.items():
            measured(f"--rate {words[0]}/s, then {words[1]}: {share.result():.2f} of 100/s used by the last 900")
            self.assertGreaterEqual(share.result(), 0.85)

    def test_each_change_binds_within_100_ms_and_nothing_is_lost(self):
        """A change at random, each held against what nginx saw after it."""
        seed = int(os.environ.get("HEADWAY_SEED", random.randrange(2**32)))
        chance = random.Random(seed)
        late = []
        with servers.nginx(latency_ms=(1, 1)) as server, Work(gets(server, 130 * CHANGES)) as work:
            run, line = self.started(work, "--trace", "trace", "--rate", "400/s", "--concurrency", "50")
            wait_for(lambda: len(server.log()) > 20)
            line = Line(self.runtime, run.pid)  # one that is silent while JOBS are read is closed after 10 s
            told = []
            for _ in range(CHANGES):
                what = chance.choice(("pause", "rate", "concurrency", "off"))
                if what == "pause":
                    said = line.say("pause")
                elif what == "rate":
                    said = line.say("rate", value="10/s")
                elif what == "concurrency":
                    said = line.say("concurrency", value=str(chance.randint(1, 50)), scope="127*")
                else:
                    said = line.say("rate", value="400/s")
                self.assertTrue(said.get("ok"), said)
                begin = time.time()
                time.sleep(chance.uniform(0.15, 0.3))
                told.append((what, begin, time.time()))
                if what == "pause":
                    self.assertTrue(line.say("resume")["ok"])
                if what == "rate":
                    self.assertTrue(line.say("rate", value="400/s")["ok"])
            self.assertTrue(line.say("rate", value="off")["ok"])
            self.assertTrue(line.say("concurrency", value="off")["ok"])
            self.assertEqual(run.wait(100 + CHANGES), 0, work.stderr())
            starts = server.log().starts()
            for what, begin, end in told:
                sent = sum(begin + 0.1 < s < end - 0.02 for s in starts)  # nginx's clock is a little behind
                if what == "pause" and sent or what == "rate" and sent > 4:
                    late.append((what, sent, begin))
            measured(f"seed {seed}: {CHANGES} changes, {len(late)} not obeyed within 100 ms")
            self.assertEqual(late, [])
            self.assertEqual(work.outcomes(), succeeded(130 * CHANGES))
            self.assertEqual(len(server.log()), 130 * CHANGES)
            code, said = replay(work)
            self.assertEqual(code, 0, said)
            measured(said.strip())

    def test_finish_begins_no_other_line(self):
        with servers.nginx(latency_ms=(300, 300)) as server, Work(gets(server, 500)) as work:
            run, line = self.started(work, "--rate", "20/s")
            wait_for(lambda: len(server.log()) > 3)
            self.assertTrue(line.say("finish")["ok"])
            self.assertEqual(run.wait(20), 75, work.stderr())
            self.assertEqual(len(work.outcomes()), len(server.log()))
            self.assertEqual(work.run(), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(500))
            self.assertEqual(len(server.log()), 500)

    def test_spend_max_holds_from_then_on(self):
        with servers.nginx(METERED) as server, Work([f"{server.url}/v1/{i}" for i in range(400)]) as work:
            run, line = self.started(work, "--rate", "50/s", "--trace", "trace")
            wait_for(lambda: len(server.log()) > 20)
            self.assertEqual(self.ctl(work, run.pid, "spend-max", f"tokens={60 * COST}")[0], 0)
            self.assertEqual(run.wait(20), 77, work.stderr())
            self.assertIn("spend-max tokens=6000", work.stderr())
            self.assertEqual(len(server.log()), 60)
            code, said = replay(work)
            self.assertEqual(code, 0, said)

    def test_hostile_clients_change_nothing(self):
        def flood(path, until):
            while time.monotonic() < until:
                peers = []
                for what in (b"x" * (1 << 20), b"\0\n", b'{"do":"\xc3"}\n', b"{}\n" * 900, b"[" * 4000 + b"\n"):
                    s = socket.socket(socket.AF_UNIX)
                    s.settimeout(0.2)
                    try:
                        s.connect(str(path))
                        s.sendall(what)
                    except OSError:
                        pass
                    peers.append(s)  # never read
                for s in peers:
                    s.close()

        with servers.nginx(latency_ms=(5, 5)) as server, Work(gets(server, 900)) as work:
            run, line = self.started(work, "--rate", "50/s", "--concurrency", "20")
            wait_for(lambda: len(server.log()) > 5)
            begin, before = time.monotonic(), cpu_seconds(run.pid)
            crowd = [threading.Thread(target=flood, args=(line.path, begin + 8)) for _ in range(4)]
            for t in crowd:
                t.start()
            for t in crowd:
                t.join()
            for _ in range(int(os.environ.get("HEADWAY_CONNECTIONS", "300"))):
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(2)
                    with contextlib.suppress(OSError):
                        s.connect(str(line.path))
            share = (cpu_seconds(run.pid) - before) / (time.monotonic() - begin)
            self.assertEqual(run.wait(60), 0, work.stderr())
            measured(f"in a flood the run takes {100 * share:.1f} % of a core")
            self.assertLessEqual(share, 0.15)
            self.assertEqual(work.outcomes(), succeeded(900))

    def test_clients_that_ask_and_never_read_hold_up_no_other(self):
        """60 of them, with 900 questions each; ctl waits for 5 s at most, so that an answer shows that it came in time."""
        with servers.nginx(latency_ms=(5, 5)) as server, Work(gets(server, 400)) as work:
            run, line = self.started(work, "--rate", "40/s")
            wait_for(lambda: len(server.log()) > 5)
            deaf = []
            for _ in range(60):
                s = socket.socket(socket.AF_UNIX)
                self.addCleanup(s.close)
                s.setblocking(False)
                with contextlib.suppress(OSError):
                    s.connect(str(line.path))
                    s.sendall(b'{"do":"status"}\n' * 250)
                deaf.append(s)
            for number in range(1, 5):
                self.assertEqual(self.ctl(work, run.pid, "explain", number)[0], 0)
                self.assertRegex(self.ctl(work)[1], rf"(?m)^{run.pid} ")
            self.assertEqual(run.wait(60), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(400))

    def test_a_run_that_drips_its_answer_is_not_waited_for(self):
        with Work() as work, socket.socket(socket.AF_UNIX) as drips:
            folder = Path(self.runtime, "headway")
            folder.mkdir(mode=0o700)
            drips.bind(str(folder / f"run-{os.getpid()}.sock"))
            drips.listen()
            asked = subprocess.Popen([BINARY, "ctl"], env={**work.environment(), "XDG_RUNTIME_DIR": self.runtime},
                                     stdout=subprocess.PIPE)
            self.addCleanup(asked.stdout.close)
            drips.accept()[0].close()  # whether it lives
            peer, _ = drips.accept()
            with peer, contextlib.suppress(OSError):
                for sent in range(24):
                    peer.sendall(b" ")
                    time.sleep(0.5)
            self.assertLess(sent, 14)
            self.assertEqual(asked.wait(20), 0)
            self.assertEqual(asked.stdout.read(), b"no run lives\n")

    def test_another_user_gets_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        with servers.nginx(latency_ms=(5, 5)) as server, Work(gets(server, 2000)) as work:
            run, line = self.started(work, "--rate", "100/s")
            code = (
                "import socket,sys\ns=socket.socket(socket.AF_UNIX)\n"
                "s.connect(sys.argv[1])\ntry:\n s.sendall(b'{\"do\":\"stop\"}\\n'); got = s.recv(99)\n"
                "except ConnectionError: got = b''\nsys.exit(len(got) > 0)"
            )
            command = ["setpriv", "--reuid=65534", "--clear-groups", "python3", "-c", code, str(line.path)]
            self.assertNotEqual(subprocess.run(command, stderr=subprocess.DEVNULL).returncode, 0)
            for opened in (Path(self.runtime), line.path.parent, line.path):
                os.chmod(opened, 0o777)  # whatever the folder lets pass
            got = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(got.returncode, 0, got.stderr)  # connected, and hung up on
            self.assertTrue(line.say("status")["ok"])
            run.terminate()
            self.assertEqual(run.wait(20), 143)


class OfExec(Runtime):
    def test_lists_explains_changes_and_ends_it(self):
        with Work() as work:
            (work.path / "values").write_text("".join(f"{i}\n" for i in range(400)))
            exec = work.launch("exec", "values", "--name", "mine", "--trace", "trace", "--rate", "20/s", "--quiet",
                               "--", "sh", "-c", "echo {} >> done", XDG_RUNTIME_DIR=self.runtime)
            self.addCleanup(exec.wait)
            self.addCleanup(exec.kill)
            done = lambda: len(whole_lines(work.path / "done")) if (work.path / "done").exists() else 0
            wait_for(lambda: done() > 5)
            line = Line(self.runtime, exec.pid, "exec")
            self.assertRegex(self.ctl(work)[1], rf"(?m)^{exec.pid} +exec +mine  \d+ / 400 ")
            for number, state in ((1, "ended"), (399, "waits in the queue of mine|not read yet")):
                self.assertRegex(self.ctl(work, exec.pid, "explain", number)[1], f"line {number}: ({state})")
            self.assertTrue(line.say("pause")["ok"])
            time.sleep(0.3)
            before = done()
            time.sleep(0.4)
            self.assertEqual(done(), before)
            self.assertEqual([s["paused"] for s in line.say("status")["scopes"]], [True])
            self.assertTrue(line.say("resume")["ok"])
            self.assertTrue(line.say("rate", value="200/s", scope="mi*")["ok"])
            wait_for(lambda: done() > before + 40)
            self.assertIn("commands do not say what they cost", line.say("spend-max", value="tokens=5")["error"])
            self.assertTrue(line.say("finish")["ok"])
            self.assertEqual(exec.wait(20), 75, work.stderr())
            self.assertIn("stopped by headway ctl", work.stderr())
            self.assertIn(": rate 200/s", work.stderr().replace("scope mi* ", ""))
            self.assertEqual(done(), len(whole_lines(work.path / "values.results.jsonl")))
            code, said = replay(work)
            self.assertEqual(code, 0, said)


class OfAProxy(Runtime):
    def test_lists_changes_and_ends_it(self):
        with servers.nginx(latency_ms=(1, 1)) as server, \
                Proxy(server.url, "--cold", "--alone", XDG_RUNTIME_DIR=self.runtime) as proxy, Work() as work:
            self.assertEqual(proxy.ask("GET", "/1")[0], 200)
            pid = proxy.process.pid
            self.assertRegex(self.ctl(work)[1], rf"(?m)^{pid} +proxy +127\.0\.0\.1:{proxy.port} → {server.url}  1")
            self.assertEqual(self.ctl(work, pid, "scope", "127*", "rate", "20/s")[0], 0)
            crowd = [threading.Thread(target=proxy.ask, args=("GET", f"/{i}")) for i in range(2, 50)]
            for t in crowd:
                t.start()
            wait_for(lambda: len(server.log()) > 8)
            line = Line(self.runtime, pid, "proxy")
            self.assertTrue(line.say("pause")["ok"])
            begin = time.time()
            time.sleep(0.5)
            end = time.time()
            self.assertEqual(proxy.state()["upstreams"][0]["scopes"][0]["held"]["why"], "paused")
            self.assertTrue(line.say("resume")["ok"])
            self.assertTrue(line.say("rate", value="off")["ok"])
            for t in crowd:
                t.join()
            starts = server.log().starts()
            self.assertEqual(sum(begin + 0.1 < s < end - 0.02 for s in starts), 0)
            self.assertLessEqual(sum(s < begin for s in starts[1:]), 20 * (begin - starts[1]) + 3)
            self.assertEqual(len(starts), 49)
            for words, said in {("explain", "1"): "a proxy has no JOBS", ("scope", "x*", "pause"): "no scope matches"}.items():
                code, out, error = self.ctl(work, pid, *words)
                self.assertEqual((code, out, error.count("\n")), (2, "", 1), error)
                self.assertIn(said, error)
            self.assertEqual(self.ctl(work, pid, "finish")[0], 0)
            self.assertEqual(proxy.process.wait(10), 0)
            self.assertEqual(os.listdir(Path(self.runtime, "headway")), [])

    def test_what_is_ordered_outlives_a_reload(self):
        """Planted: orders to the present servers only; then what waits stays paused. Planted: none to new ones; then they
        are as fast as the server. Planted: `stop` ignored while it drains; then nothing is refused."""
        with servers.nginx(latency_ms=(1, 1)) as server, Work() as work:
            proxy = Proxy(None, "--cold", "--alone", "--law=fixed", "--config=proxy.toml", XDG_RUNTIME_DIR=self.runtime)

            def write(patience):
                Path(proxy.folder, "proxy.toml").write_text(f'[[upstream]]\nurl = "{server.url}"\nwait-max = "{patience}s"\n')

            def reload(patience, count):
                write(patience)
                proxy.process.send_signal(signal.SIGHUP)
                wait_for(lambda: proxy.stderr().count("was read again") == count)

            write(60)
            with proxy:
                answers = []
                crowd = lambda paths: [threading.Thread(target=lambda p=p: answers.append(proxy.ask("GET", p)[0])) for p in paths]
                waiting = lambda: sum(proxy.state()["upstreams"][0]["waiting"].values())
                line = Line(self.runtime, proxy.process.pid, "proxy")
                self.assertTrue(line.say("pause")["ok"])
                before = crowd(("/1",))
                before[0].start()
                wait_for(lambda: waiting() == 1)
                reload(50, 1)
                after = crowd(("/2",))
                after[0].start()
                wait_for(lambda: waiting() == 1)  # of the new one; the old one has the other
                self.assertEqual(len(server.log()), 0)
                self.assertTrue(line.say("resume")["ok"])
                for t in (*before, *after):
                    t.join(20)
                self.assertEqual(answers, [200] * 2)
                self.assertTrue(line.say("rate", value="5/s")["ok"])
                reload(40, 2)
                many = crowd([f"/{n}" for n in range(3, 13)])
                for t in many:
                    t.start()
                for t in many:
                    t.join(20)
                starts = server.log().starts()[2:]
                self.assertGreater(starts[-1] - starts[0], 9 / 5 - 0.5)
                self.assertTrue(line.say("pause")["ok"])
                last = crowd(("/last",))
                last[0].start()
                wait_for(lambda: waiting() == 1)
                self.assertEqual(self.ctl(work, proxy.process.pid, "finish")[0], 0)
                self.assertEqual(self.ctl(work, proxy.process.pid, "stop")[0], 0)
                last[0].join(20)
                self.assertEqual((answers[2:], proxy.process.wait(10)), ([200] * 10 + [503], 143))


if __name__ == "__main__":
    unittest.main()
