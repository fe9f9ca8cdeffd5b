"""A secret given by --header reaches the server it is for, and nothing else."""
import base64
import contextlib
import json
import os
import signal
import unittest
import urllib.parse
from pathlib import Path

import servers
import sockets
from work import Work, gets, measured, wait_for

SECRET = "canary-7f3a9c51d2"
FROM_ENV = "Authorization: ${env:KEY}"

ENTRANCES = ("env", "file", "file-env", "literal", "job", "query", "proxy", "sigv4", "token")
FILES = ("--trace", "trace", "--failed", "failed", "--state", "limits", "--progress", "json")
GIVEN = ("jobs.txt", "headers", "echo.toml")  # what the user wrote, and what is copied of it
CREDENTIALS = "authorization", "cookie", "x-file", "x-literal", "api-key", "x-amz-security-token"
# Told codes are shown, so these rules take what the server repeats for one.
ECHO = """
[[rule]]
status = [402, 404, 429]
pointer = "/error/code"
contains = ["-"]
means = "{}"
"""


def planted(ending):
    """A canary for each entrance, different in each ending; some have what JSON and URLs escape."""
    return {
        entrance: f"{ending}-{entrance}-{os.urandom(6).hex()}" + ("" if entrance in ("query", "proxy") else '/"+=')
        for entrance in ENTRANCES
    }


def forms(secret):
    """How it may be written: what to look for."""
    raw = secret.encode()
    yield from (raw, urllib.parse.quote(raw, safe="").encode(), urllib.parse.quote(raw).encode())
    yield from (raw.hex().encode(), raw.hex().upper().encode())
    for text in (json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        yield from (text[1:-1].encode(), text[1:-1].replace("/", "\\/").encode())
    for before in range(3):  # in base64 it depends on where it begins
        coded = base64.b64encode(b"x" * before + raw)
        yield coded[4 if before else 0 : -4]


def found(canaries, text):
    """Entrances whose canary is in `text`."""
    return [entrance for entrance, secret in canaries.items() if any(f in text for f in forms(secret))]


def without_bodies(results):
    """The body of a result is the user's: a server may put there what it likes."""
    lines = [json.loads(line) for line in results.decode().splitlines()]
    return "\n".join(json.dumps({k: v for k, v in line.items() if k != "body"}) for line in lines).encode()


def echoing(statuses):
    """A server that repeats all that it hears, in its body, its error's code and its fields."""

    def script(n, request):
        heard = [request.headers[name] for name in CREDENTIALS if name in request.headers]
        code = heard[n % len(heard)]
        if n % 2:  # without its scheme, as many do
            code = code.rpartition(" ")[2] + " is not a key"
        coded = {"code": code, "message": " ".join(request.headers.values())}
        status = statuses[min(n, len(statuses) - 1)]
        fields = {"Content-Type": "application/json", "X-Error-Code": code}
        if status == 503:
            fields["Retry-After"] = "999999"
        return status, fields, {"error": coded}

    return script


class Canaries(unittest.TestCase):
    """Different canaries over every entrance and every ending: none is anywhere."""

    ENDINGS = {
        "success": ([200], 0),
        "failure": ([404], 1),
        "broken": ([500], 1),
        "throttle": ([429, 429, 200], 0),
        "park": ([503], 75),
        "canary": ([401], 77),
        "money": ([402], 77),
        "full": ([200], 74),
        "dry": ([200], 0),
        "kill": ([200], -signal.SIGKILL),
        "term": ([200], 143),
        "closed": ([], 1),
        "tls": ([], 77),
    }

    def setUp(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)

    def test_the_search_finds_every_form(self):
        (secret,) = [planted("x")["env"]]
        for form in forms(secret):
            self.assertEqual(found({"env": secret}, b"xx" + form + b"yy"), ["env"])

    def test_none_is_anywhere(self):
        planted_in_all = 0
        for ending in self.ENDINGS:
            with self.subTest(ending):
                planted_in_all += self.end_by(ending)
        measured(f"{planted_in_all} canaries over {len(self.ENDINGS)} endings were looked for")
        self.assertGreaterEqual(planted_in_all, 40)

    def end_by(self, ending):
        statuses, code = self.ENDINGS[ending]
        proxied = ending in ("success", "failure")
        signed = ending in ("throttle", "failure", "canary")
        unused = {"env"} if signed else {"sigv4", "token"}
        unused |= set() if proxied else {"proxy"}
        canaries = {entrance: secret for entrance, secret in planted(ending).items() if entrance not in unused}
        count = 25 if ending == "canary" else 400 if ending in ("kill", "term") else 4
        with contextlib.ExitStack() as stack:
            work = stack.enter_context(Work())
            if ending == "tls":
                certificate = servers.certificate(stack.enter_context(Work()).path)
                server = stack.enter_context(servers.nginx(certificate=certificate))
            elif ending == "closed":
                port = stack.enter_context(servers.closed_port())
                server = None
            else:
                server = stack.enter_context(sockets.Scripted(echoing(statuses)))
            url = server.url if server else f"http://127.0.0.1:{port}"
            work.write(
                json.dumps({"url": f"{url}/{i}?key={canaries['query']}", "headers": {"Api-Key": canaries["job"]}})
                for i in range(count)
            )
            (work.path / "headers").write_text(
                f"X-File: {canaries['file']}\nCookie: a=1; session=${{env:FILE_KEY}}\n"
            )
            options = [*FILES, "--header", "@headers", "-H", "X-Literal: " + canaries["literal"]]
            options += ["--attempts-max", "2"]
            environment = {"FILE_KEY": canaries["file-env"]}
            if proxied:
                environment["http_proxy"] = url.replace("//", f"//user:{canaries['proxy']}@")
            if signed:
                options += ["--aws-sigv4", "aws:amz:eu:s3"]
                environment |= {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": canaries["sigv4"],
                                "AWS_SESSION_TOKEN": canaries["token"]}  # fmt: skip
            else:
                options += ["--header", "Authorization: Bearer ${env:KEY}"]
                environment["KEY"] = canaries["env"]
            if ending in ("failure", "money"):
                (work.path / "echo.toml").write_text(ECHO.format("permanent" if ending == "failure" else "money"))
                options += ["--profile", "./echo.toml"]
            if ending == "closed":
                options += ["--no-canary"]
            if ending == "full":
                options += ["--out", "/dev/full"]
            if ending == "dry":
                options += ["--dry-run"]
            if ending in ("kill", "term"):
                options += ["--concurrency", "1", "--rate", "100/s"]
            if ending == "throttle":
                options += ["--out-dir", "bodies"]
            with work.start(*options, **environment) as process:
                if ending in ("kill", "term"):
                    wait_for(lambda: len(server.log) > 5)
                    shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
                    self.assertEqual(found(canaries, shown), [], "cmdline")
                    environ = Path(f"/proc/{process.pid}/environ").read_bytes()
                    self.assertEqual(sorted(found(canaries, environ)), ["env", "file-env"])
                    process.send_signal(-code if code < 0 else signal.SIGTERM)
                self.assertEqual(process.wait(60), code, work.stderr())
            if server and ending not in ("dry", "tls"):  # they were all used
                heard = "\n".join(
                    "\n".join([request.path, *request.headers.values()]) for request in server.heard
                )
                # A signing key is never sent.
                self.assertEqual(set(found(canaries, heard.encode())), set(canaries) - {"sigv4"})
            files = [f for f in work.path.rglob("*") if f.is_file() and f.name not in GIVEN]
            self.assertIn("stderr", [f.name for f in files])
            for file in files:
                content = file.read_bytes()
                if file.name.endswith(".results.jsonl"):
                    content = without_bodies(content)
                leaks = found(canaries, content)
                if file.name == "failed":  # lines of JOBS, byte for byte
                    leaks = [l for l in leaks if l not in ("query", "job")]
                if "bodies" in file.parts:
                    leaks = []
                self.assertEqual(leaks, [], f"{file.name}: {content[:2000]}")
                if file.name not in ("stdout", "stderr"):
                    self.assertEqual(file.stat().st_mode & 0o777, 0o600, file.name)
            return len(canaries)


class Secrets(unittest.TestCase):
    def leaks(self, work):
        files = [file for file in work.path.rglob("*") if file.is_file() and file.name != "header"]
        return [file.name for file in files if SECRET.encode() in file.read_bytes()]

    def test_nothing_shows_it(self):
        with servers.limit_req(20, "burst=5 nodelay") as server, Work(gets(server, 40)) as work:
            (work.path / "header").write_text(f"Authorization: Bearer {SECRET}\n")
            name = "Authorization: Bearer "
            for i, option in enumerate((name + "${env:KEY}", name + SECRET, "@header")):
                with self.subTest(option):
                    files = (
                        "--journal",
                        f"journal{i}",
                        "--out",
                        f"results{i}",
                        "--trace",
                        f"trace{i}",
                    )
                    sent = len(server.log())
                    self.assertEqual(
                        work.run("--header", option, *files, KEY=SECRET), 0, work.stderr()
                    )
                    self.assertEqual(
                        {r.credential for r in server.log()[sent:]}, {f"Bearer {SECRET}"}
                    )
                    for file in files[1::2]:
                        self.assertTrue((work.path / file).stat().st_size)
                    self.assertEqual(self.leaks(work), [])

    def test_a_killed_run_leaves_none(self):
        with servers.nginx(latency_ms=(50, 50)) as server, Work(gets(server, 100)) as work:
            with work.start("--header", FROM_ENV, "--trace", "trace", KEY=SECRET) as process:
                wait_for(lambda: len(server.log()) > 10)
                process.kill()
            self.assertEqual(self.leaks(work), [])

    def test_a_command_is_not_in_the_list_of_processes(self):
        """Neither in ours nor in the shell's: its environment is for its owner only."""
        value = f"X: $(sleep 1; echo {SECRET}; [ -z \"$HEADWAY_HEADER_COMMAND\" ])"
        for option in (("--header-cmd", value), (f"--header-cmd={value}",)):
            with self.subTest(option), sockets.Scripted(lambda n, _: (200, {}, b"")) as server:
                with Work(gets(server, 1)) as work, work.start(*option) as process:
                    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                    wait_for(lambda: len(children.read_text().split()) == 1)
                    for pid in (process.pid, *children.read_text().split()):
                        wait_for(lambda: b"headway\0run" in Path(f"/proc/{pid}/cmdline").read_bytes()
                                 or b"eval" in Path(f"/proc/{pid}/cmdline").read_bytes())  # fmt: skip
                        self.assertNotIn(SECRET.encode(), Path(f"/proc/{pid}/cmdline").read_bytes())
                    self.assertEqual(process.wait(10), 0, work.stderr())
                    self.assertEqual([r.headers["x"] for r in server.heard], [SECRET])

    def test_another_origin_does_not_get_it(self):
        with servers.nginx() as ours, servers.nginx() as other, Work() as work:
            work.write(gets(ours, 5) + gets(other, 5))
            options = "--header", FROM_ENV, "--header-for", f"127.0.0.1:{ours.port}"
            self.assertEqual(work.run(*options, KEY=SECRET), 0, work.stderr())
            self.assertEqual({r.credential for r in ours.log()}, {SECRET})
            self.assertEqual({r.credential for r in other.log()}, {"-"})

    def test_errors_do_not_quote_it(self):
        with servers.closed_port() as port, Work([f"http://127.0.0.1:{port}/1"]) as work:
            for option in (SECRET, f"Authorization {SECRET}", f"Bad Name: {SECRET}"):
                with self.subTest(option):
                    self.assertEqual(work.run("--header", option), 2)
                    self.assertNotIn(SECRET, work.stderr())
            self.assertEqual(
                work.run("--header", f"Authorization: {SECRET}", "--attempts-max", "1", "--no-canary"), 1
            )
            self.assertEqual(self.leaks(work), [])


if __name__ == "__main__":
    unittest.main()
