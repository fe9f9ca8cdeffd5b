"""Routes, credentials and bad input of the proxy."""
import contextlib
import socket
import tempfile
import unittest
from pathlib import Path

from proxy import Proxy, refused, start
from sockets import Server, ok

COLD = ("--cold", "--alone", "--law=fixed")


@contextlib.contextmanager
def configured(text, *options, **environment):
    proxy = Proxy(None, *COLD, "--config=proxy.toml", *options, **environment)
    Path(proxy.folder, "proxy.toml").write_text(text)
    with proxy:
        yield proxy


class Routes(unittest.TestCase):
    def test_by_prefix_host_and_absolute_form(self):
        def answer(name):
            return lambda r, _: ok(f"{name} {r.path} {r.headers['host']}".encode())

        with Server(answer("ai")) as ai, Server(answer("hub")) as hub, Server(answer("aws")) as aws:
            config = f"""
                [[upstream]]
                name = "ai"
                url = "{ai.url}/base"
                prefix = "/openai"
                [[upstream]]
                name = "deep"
                url = "{hub.url}"
                prefix = "/openai/deep"
                [[upstream]]
                name = "hub"
                url = "{hub.url}"
                host = "hub.local:8080"
                [[upstream]]
                name = "aws"
                url = "{aws.url}"
                via-http-proxy = true
            """
            with configured(config) as proxy:

                def get(target, host="me"):
                    return proxy.raw(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")

                for target, host, wanted in (
                    ("/openai/v1?x=/openai/deep", "me", f"ai /base/v1?x=/openai/deep {ai.url[7:]}"),
                    ("/openai", "me", f"ai /base/ {ai.url[7:]}"),
                    ("/openai?a", "me", f"ai /base/?a {ai.url[7:]}"),
                    ("/openai/deep/x", "me", f"hub /x {hub.url[7:]}"),
                    ("/openai/deeper", "me", f"ai /base/deeper {ai.url[7:]}"),
                    ("/openai/../hub", "hub.local:8080", f"ai /base/../hub {ai.url[7:]}"),
                    ("/x", "hub.local:8080", f"hub /x {hub.url[7:]}"),
                    (f"{aws.url}/table?x", aws.url[7:], f"aws /table?x {aws.url[7:]}"),
                ):
                    said = get(target, host)
                    self.assertTrue(said.endswith(wanted.encode()), (target, said))
                for target, host in (("/", "me"), ("/openaix", "me"), ("http://other.example/", "other.example")):
                    said = get(target, host)
                    self.assertTrue(said.startswith(b"HTTP/1.1 404"), said)
                    self.assertIn("/openai/… → ai".encode(), said)

    def test_links_lead_back_to_us(self):
        origin = None

        def answer(request, _):
            url = origin.url
            return (
                f'HTTP/1.1 302 Found\r\nLocation: {url}/next?p=2\r\nLink: <{url}/a?p=2>; rel="next", '
                f"<https://else.example/b>; rel=last, <{url}.evil.example/>; rel=x\r\nContent-Length: 0\r\n\r\n"
            ).encode()

        with Server(answer) as origin, Proxy(None, *COLD, f"--upstream=a={origin.url}", "--upstream=b=http://127.0.0.1:1") as proxy:
            _, fields, _ = proxy.ask("GET", "/a/x")
        self.assertEqual(fields["location"], f"{proxy.url}/a/next?p=2")
        self.assertEqual(
            fields["link"],
            f'<{proxy.url}/a/a?p=2>; rel="next", <https://else.example/b>; rel=last, <{origin.url}.evil.example/>; rel=x',
        )

    def test_credentials_take_the_place_of_the_clients(self):
        with Server(lambda r, _: ok(r.headers["authorization"].encode())) as origin:
            config = f'[[upstream]]\nurl = "{origin.url}"\nheaders = ["Authorization: Bearer ${{env:KEY}}"]\n'
            with configured(config, KEY="from-the-environment") as proxy:
                said = proxy.ask("GET", "/", headers={"Authorization": "Bearer theirs"})[2]
        self.assertEqual(said, b"Bearer from-the-environment")

    def test_it_tells_its_manager(self):
        with tempfile.TemporaryDirectory() as folder, Server(lambda *_: ok()) as origin:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(f"{folder}/notify")
                manager.settimeout(10)
                with Proxy(origin.url, *COLD, NOTIFY_SOCKET=f"{folder}/notify") as proxy:
                    self.assertTrue(manager.recv(200).startswith(b"READY=1"))
                    proxy.process.terminate()
                    self.assertTrue(manager.recv(200).startswith(b"STOPPING=1"))

    def test_both_families(self):
        with Server(lambda *_: ok()) as origin:
            proxy = Proxy(origin.url, *COLD)
            proxy.options[1:3] = ["--listen=[::1]:0", "--admin=none"]
            process = start(proxy.folder, proxy.options)
            said = process.stdout.readline().decode()
            self.assertTrue(said.startswith("http://[::1]:"), said)
            port = int(said.split("]:")[1].split(" ")[0])
            with socket.create_connection(("::1", port), 10) as s:
                s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertIn(b"200 OK", s.recv(4096))
            process.kill()
            process.wait()
            process.stdout.close()


class Wrong(unittest.TestCase):
    """One line, exit 2, and nothing listens."""

    def is_refused(self, because, *options, config=None, files={}):
        files = {**files, **({"c.toml": config} if config is not None else {})}
        extra = ("--config=c.toml",) if config is not None else ()
        code, said, out = refused(*extra, *options, files=files)
        self.assertEqual((code, out), (2, ""), said)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(because, said)

    def test_options(self):
        url = "--upstream=http://127.0.0.1:1"
        self.is_refused("want a server: --upstream")
        self.is_refused("want http or https", "--upstream=ftp://x")
        self.is_refused("a query or a fragment", "--upstream=http://x/?key=1")
        self.is_refused("want ADDRESS:PORT", url, "--listen=8080")
        self.is_refused("others could read it", url, "--listen=127.0.0.1:0", "--admin=0.0.0.0:0")
        self.is_refused(
            "others could spend the credentials", url, "--listen=0.0.0.0:0", "--header=Authorization: Bearer x"
        )
        self.is_refused("want a whole number from 1 to 1000000", url, "--queue=0")
        self.is_refused("--hold-max", url, "--body-max=64MiB", "--hold-max=32MiB")
        self.is_refused("no such law", url, "--law=fats")
        self.is_refused("--law fats", url, "--law=fats")
        self.is_refused("cannot resolve no-such-host.invalid", "--upstream=http://no-such-host.invalid")
        self.is_refused("environment variable", url, "--header=A: ${env:NOT_SET_AT_ALL}")
        for name in "Host", "connection", "Upgrade", "Expect", "X-Headway-Client":  # before: a request of two Hosts
            self.is_refused("is for the proxy to write", url, f"--header={name}: x")
        self.is_refused("visible characters", url, "--client-token-file=t", files={"t": "short"})
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.is_refused(f"--listen 127.0.0.1:{port}: cannot listen there", url, f"--listen=127.0.0.1:{port}")

    def test_a_proxy_before_itself(self):
        """Before: one request went round until no descriptor was free."""
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            port = holder.getsockname()[1]
        rows = [("127.0.0.1", "localhost"), ("0.0.0.0", "localhost"), ("0.0.0.0", "127.3.2.1")]
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            rows.append(("0.0.0.0", probe.getsockname()[0]))
        for listen, to in rows:
            self.is_refused("leads to this proxy itself; want the API", f"--upstream=http://{to}:{port}", f"--listen={listen}:{port}", "--admin=none")

    def test_files(self):
        one = '[[upstream]]\nname = "a"\nurl = "http://127.0.0.1:1"\n'
        self.is_refused('c.toml:4: no key "prefx"; did you mean "prefix"?', config=one + 'prefx = "/a"\n')
        self.is_refused("c.toml:1", config="[[upstream\n")
        for words in 'rate = "abc"', 'law = "fats"', 'headers = ["A: ${env:NOT_SET_AT_ALL}"]', 'headers = ["Host: x"]', 'cacert = "none"', 'header-ttl = "5min"':
            self.is_refused("c.toml:1: ", config=one + words + "\n")
        for words in 'body-max = "64MiB"\nhold-max = "32MiB"\n', 'admin-token-file = "none"\n':
            self.is_refused("c.toml: ", config=words + one)
        self.is_refused("c.toml: no request can reach", config=one + '[[upstream]]\nurl = "http://127.0.0.1:2"\n')
        self.is_refused("headway: upstream a: rate 'xyz'", "--rate=xyz", config=one)
        self.is_refused("wants url", config='[[upstream]]\nname = "a"\n')
        self.is_refused("no request can reach upstream", config=one + '[[upstream]]\nurl = "http://127.0.0.1:2"\n')
        self.is_refused(
            "another has the prefix",
            config=one + 'prefix = "/x"\n[[upstream]]\nname = "b"\nurl = "http://127.0.0.1:2"\nprefix = "/x/"\n',
        )
        self.is_refused("no request can reach upstream", config=one + 'host = "a b"\n')
        self.is_refused("rate", config=one + 'rate = "fast"\n')
        self.is_refused("c.toml: queue", config="queue = 0\n" + one)
        self.is_refused("must be true or false", config=one + 'via-http-proxy = "yes"\n')

    def test_files_that_are_one(self):
        url, files = "--upstream=http://127.0.0.1:1", {"t": "a-token-of-22-characters", "h": "A: b"}
        one = f'access-log = "./c.toml"\n[[upstream]]\nurl = "{url[11:]}"\n'
        self.is_refused("would overwrite the file of --config", config=one)
        for option in "client-token-file=t", "admin-token-file=t", "header=@h", "cacert=h":
            name = option.split("=")[0]
            log = f"--access-log={option[-1]}"
            self.is_refused(f"would overwrite the file of --{name}", url, f"--{option}", log, files=files)
        self.is_refused("would overwrite what --access-log writes", url, "--access-log=s", "--state=s")


if __name__ == "__main__":
    unittest.main()
