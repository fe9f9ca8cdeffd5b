"""Redirects are followed: by the rules, at the pace of the server they lead to, without its neighbour's secrets."""
import bisect
import collections
import json
import unittest

import servers
import sockets
from work import Work, gets, post, succeeded

EACH = " ".join(f"if ($uri ~ ^/{s}/(.*)$) {{ return {s} /$1; }}" for s in (301, 302, 303, 307, 308))
SECRET = "secret-5c1d"


def to(other, status=302):
    """nginx that sends all to the same path of another server."""
    return servers.nginx(f"return {status} {other.url}$request_uri;")


class Redirects(unittest.TestCase):
    def requests(self, server):
        return [(r.method, r.path, r.status) for r in sorted(server.log(), key=lambda r: r.end)]

    def test_gets_go_where_they_are_sent(self):
        for method in ("GET", "HEAD"):
            with self.subTest(method), servers.nginx(EACH) as server, Work() as work:
                for status in (301, 302, 303, 307, 308):
                    work.write([json.dumps({"url": f"{server.url}/{status}/x", "method": method})])
                    self.assertEqual(work.run("--journal", f"j{status}", "--out", f"o{status}"), 0)
                    result = json.loads((work.path / f"o{status}").read_text())
                    self.assertEqual((result["status"], result["attempts"]), (200, 2))
                    last = self.requests(server)[-2:]
                    self.assertEqual(last, [(method, f"/{status}/x", status), (method, "/x", 200)])

    def test_what_may_have_been_carried_out_is_not(self):
        with servers.nginx(EACH) as server, Work() as work:
            work.write([post(server, f"{status}/x") for status in (301, 302, 303)])
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(len(server.log()), 3)
            for result in work.results():
                self.assertIn("it is followed for GET and HEAD only", result["reason"])
                self.assertEqual(result["outcome"], "failed")

    def test_307_and_308_keep_method_and_body(self):
        with sockets.Server(lambda request, before: sockets.ok()) as other, to(
            other, 308
        ) as server:
            with Work([post(server, f"{i}") for i in range(20)]) as work:
                self.assertEqual(work.run(), 0, work.stderr())
                self.assertEqual({r["attempts"] for r in work.results()}, {2})
            self.assertEqual({(r.method, r.body) for r in other.heard}, {("POST", b'{"n":1}')})
            self.assertEqual(
                sorted(r.path for r in other.heard), sorted(f"/{i}" for i in range(20))
            )
            self.assertEqual({r.headers["content-type"] for r in other.heard}, {"application/json"})
            self.assertEqual(len(server.log()), 20)

    def test_as_many_as_are_allowed(self):
        chain = "if ($uri ~ ^/n(n*)$) { return 302 /$1; }"
        with servers.nginx(chain) as server, Work() as work:
            for i, (hops, most, code) in enumerate(
                (
                    (5, (), 0),
                    (6, (), 1),
                    (6, ("--redirects-max", "6"), 0),
                    (1, ("--redirects-max", "0"), 1),
                )
            ):
                with self.subTest(f"{hops} {most}"):
                    work.write([f"{server.url}/{'n' * hops}"])
                    before = len(server.log())
                    options = "--journal", f"j{i}", "--out", f"o{i}", *most
                    self.assertEqual(work.run(*options), code, work.stderr())
                    limit = int(most[1]) if most else 5
                    self.assertEqual(len(server.log()) - before, min(hops, limit) + 1)
                    reason = json.loads((work.path / f"o{i}").read_text()).get("reason")
                    if code:
                        self.assertIn("more than 5 redirects" if limit else "not followed", reason)

    def test_a_loop_ends(self):
        loop = "if ($uri = /a) { return 302 /b; } if ($uri = /b) { return 302 /a; } if ($uri = /c) { return 302 /c; }"
        with servers.nginx(loop) as server, Work([f"{server.url}/a", f"{server.url}/c"]) as work:
            self.assertEqual(work.run(), 1, work.stderr())
            reasons = [r["reason"] for r in work.results()]
            self.assertEqual(reasons, ["status 302: the redirect leads back to where it was"] * 2)
            self.assertEqual(sorted(r.path for r in server.log()), ["/a", "/b", "/c"])

    def test_another_origin_does_not_see_the_credentials(self):
        """Those of --header, of --header-cmd and of JOBS."""
        refuse = 'set $got "$http_cookie$http_x_api_key$http_x_other"; if ($got != "kept") { return 403; }'
        with servers.nginx(refuse) as other, to(other) as server, Work() as work:
            headers = {"Cookie": SECRET, "x-api-key": SECRET, "X-Other": "kept"}
            lines = [{"url": f"{server.url}/{i}", "headers": headers} for i in range(5)]
            lines.append({**lines[0], "headers": {**headers, "Authorization": SECRET}})
            for i, option in enumerate(("--header", "--header-cmd")):
                value = f"Authorization: $(echo {SECRET})" if i else f"Authorization: {SECRET}"
                work.write([json.dumps(line) for line in lines])
                options = option, value, "--journal", f"j{i}", "--out", f"o{i}"
                self.assertEqual(work.run(*options), 0, work.stderr())
            self.assertEqual(len(other.log()), 12)
            self.assertEqual({r.credential for r in server.log()}, {SECRET})
            self.assertEqual({r.credential for r in other.log()}, {"-"})

    def test_the_same_origin_does(self):
        with servers.nginx(EACH) as server, Work([f"{server.url}/302/x"]) as work:
            self.assertEqual(work.run("--header", f"Authorization: {SECRET}"), 0, work.stderr())
            self.assertEqual([r.credential for r in server.log()], [SECRET] * 2)

    def test_a_hop_keeps_the_pace_of_where_it_leads(self):
        with servers.nginx() as other, to(other) as one, to(other) as two, Work() as work:
            work.write([url for both in zip(gets(one, 30), gets(two, 30)) for url in both])
            self.assertEqual(work.run("--rate", "20/s"), 0, work.stderr())
            self.assertEqual(work.outcomes(), succeeded(60))
            self.assertEqual([len(one.log()), len(two.log()), len(other.log())], [30, 30, 60])
            self.assertLessEqual(other.log().busiest(1), 21)

    def test_no_redirect_makes_it_faster_than_its_rate(self):
        """One server of many names, each of which is a scope of its own."""

        def along(number, request):
            hop, line = map(int, request.path[1:].split("/"))
            if hop == 5:
                return 200, {}, b"ok"
            return 302, {"Location": f"http://n{hop}.localhost:{port}/{hop + 1}/{line}"}, b""

        def aside(number, request):
            hop, line = map(int, request.path[1:].split("/"))
            if hop == 0:
                return 302, {"Location": f"http://n{line}.localhost:{port}/1/{line}"}, b""
            refused[line] += 1
            return (429 if refused[line] <= 3 else 200), {}, b""

        refused = collections.Counter()
        for script, sends in ((along, 6), (aside, 5)):
            with self.subTest(script.__name__), sockets.Scripted(script) as server:
                port = server.server_address[1]
                with Work([f"http://localhost:{port}/0/{i}" for i in range(1, 21)]) as work:
                    options = "--law", "fixed", "--rate", "50/s", "--cold"
                    self.assertEqual(work.run(*options), 0, work.stderr())
                    self.assertEqual(work.outcomes(), succeeded(20))
                    self.assertEqual({r["attempts"] for r in work.results()}, {sends})
                times = sorted(at for at, _, _ in server.log)
                self.assertEqual(len(times), 20 * sends)
                busiest = max(bisect.bisect(times, at + 1) - i for i, at in enumerate(times))
                self.assertLessEqual(busiest, 60)  # some arrive late

    def test_attempts_count_across_hops(self):
        """A server that breaks each hop as often as it may before it sends it on."""
        heard = collections.Counter()

        def breaks(number, request):
            heard[request.path] += 1
            if heard[request.path] < 3:
                return 500, {}, b""
            hop = int(request.path[1:])
            return 302, {"Location": f"http://n{hop}.localhost:{port}/{hop + 1}"}, b""

        with sockets.Scripted(breaks) as server:
            port = server.server_address[1]
            with Work([f"http://localhost:{port}/0"]) as work:
                options = "--attempts-max", "4", "--retry-budget", "off", "--cold"
                self.assertEqual(work.run(*options), 1, work.stderr())
            self.assertEqual([status for _, _, status in server.log], [500, 500, 302, 500, 500])

    def test_a_hop_of_a_scope_that_is_stopped_is_left(self):
        """Its lines send nothing more, wherever they have been sent on to."""

        def script(number, request):
            if request.path == "/key":
                return 401, {}, {"error": {"code": "account_deactivated"}}
            if request.path.startswith("/there"):
                return 429, {}, b""
            return 302, {"Location": f"http://other.localhost:{port}/there{request.path}"}, b""

        with sockets.Scripted(script) as server:
            port = server.server_address[1]
            lines = [f"http://localhost:{port}/{i}" for i in range(4)] + [f"http://localhost:{port}/key"]
            with Work(lines) as work:
                options = "--law", "fixed", "--rate", "20/s", "--cold", "--profile", "openai"
                self.assertEqual(work.run(*options, timeout=30), 77, work.stderr())
                self.assertEqual(work.outcomes(), {})
            paths = [path for _, path, _ in server.log]
            self.assertLessEqual(len(paths) - 1 - paths.index("/key"), 4)

    def test_a_hop_that_is_throttled_goes_again_and_not_from_the_start(self):
        with servers.limit_req(20, "burst=2 nodelay") as other, to(other) as server:
            with Work(gets(server, 60)) as work:
                self.assertEqual(work.run(), 0, work.stderr())
                self.assertEqual(len(server.log()), 60)
                self.assertEqual((len(other.log().accepted()), other.log().twice()), (60, []))
                self.assertGreater(len(other.log().throttled()), 0)

    def test_a_secret_reaches_its_origin_only_however_urls_are_written(self):
        """By a proxy's log: where libcurl sends, and what."""
        urls = [
            "http://victim.example#@evil.example/1",
            "http://victim.example?@evil.example/2",
            "http://evil.example#@victim.example/3",
            "http://evil.example/http://victim.example/4",
            "http://victim.example.evil.example/5",
            "http://victim%2eexample/6",
            "HTTP://VICTIM.example:00080/a/../7",
            "http://victim.example:/./8",
            "http://victim.example:8080/9",
            "http://0x7f.1/10",
        ]
        with sockets.Server(lambda request, before: sockets.ok()) as proxy, Work(urls) as work:
            options = "--header", f"Authorization: {SECRET}", "--header-for", "http://victim.example"
            self.assertEqual(work.run(*options, http_proxy=proxy.url), 0, work.stderr())
            heard = [(r.path, "authorization" in r.headers) for r in proxy.heard]
        sent = "/", "/?@evil.example/2", "/6", "/a/../7", "/./8"
        self.assertEqual(
            sorted(path.lower() for path, secret in heard if secret),
            sorted(f"http://victim.example{path}" for path in sent),
        )
        self.assertEqual(len(heard), len(urls))
        self.assertIn(("http://127.0.0.1/10", False), heard)

    def test_a_status_that_is_a_success_is_not_followed(self):
        with servers.nginx(EACH) as server, Work([f"{server.url}/302/x"]) as work:
            self.assertEqual(work.run("--ok", "200,302"), 0, work.stderr())
            self.assertEqual(len(server.log()), 1)


if __name__ == "__main__":
    unittest.main()
