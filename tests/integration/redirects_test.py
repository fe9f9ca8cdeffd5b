"""Redirects are followed: by the rules, at the pace of whom they lead to, without its neighbour's secrets."""
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

    def test_a_hop_that_is_throttled_goes_again_and_not_from_the_start(self):
        with servers.limit_req(20, "burst=2 nodelay") as other, to(other) as server:
            with Work(gets(server, 60)) as work:
                self.assertEqual(work.run(), 0, work.stderr())
                self.assertEqual(len(server.log()), 60)
                self.assertEqual((len(other.log().accepted()), other.log().twice()), (60, []))
                self.assertGreater(len(other.log().throttled()), 0)

    def test_a_status_that_is_a_success_is_not_followed(self):
        with servers.nginx(EACH) as server, Work([f"{server.url}/302/x"]) as work:
            self.assertEqual(work.run("--ok", "200,302"), 0, work.stderr())
            self.assertEqual(len(server.log()), 1)


if __name__ == "__main__":
    unittest.main()
