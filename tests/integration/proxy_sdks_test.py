"""SDKs that know nothing of headway, only their base URL changed: each is refused twice and does not hear of it.
Judged by what the server behind the proxy was asked for."""
import contextlib
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import npm
from sockets import Server
from work import BINARY, wait_for

HERE = Path(__file__).resolve().parent / "sdks"
FETCHED = Path(os.environ.get("HEADWAY_SDKS", "/nowhere"), "node_modules")
WORDS = ["Hel", "lo ", "you"]


class Api(http.server.ThreadingHTTPServer):
    """What the SDKs call. Each credential's first two requests are refused with Retry-After: 1."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tries = Counter()
        self.carried_out = Counter()
        self.cut_off = set()  # credentials whose streams were
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def refuses(self, credential):
        with self.lock:
            self.tries[credential] += 1
            return self.tries[credential] <= 2


def endless(event):
    return (event for _ in range(100_000) if not time.sleep(.01))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, status=200, **fields):
        body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **fields}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def events(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for name, data in events:
                text = (f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
                self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.cut_off.add(self.credential)
            self.close_connection = True

    def handle_request(self):
        size = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(size)
        credential = self.credential = (self.headers.get("Authorization") or self.headers.get("x-api-key") or "none").split()[-1]
        if self.server.refuses(credential):
            return self.answer({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429, Retry_After=1)
        self.server.carried_out[f"{self.command} {self.path.partition('?')[0]} {credential}"] += 1
        asked = json.loads(sent) if sent.startswith(b"{") else {}
        path = self.path.partition("?")[0]
        if path == "/v1/chat/completions" and asked.get("stream"):
            def chunk(text):
                return None, {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                              "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
            if asked["model"] == "endless":
                return self.events(endless(chunk("on")))
            return self.events([*map(chunk, WORDS), (None, "[DONE]")])
        if path == "/v1/chat/completions":
            return self.answer({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "".join(WORDS)}, "finish_reason": "stop"}]})
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if path == "/v1/messages" and asked.get("stream") and asked["model"] == "endless":
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "on"}}
            return self.events(endless(("content_block_delta", delta)))
        if path == "/v1/messages" and asked.get("stream"):
            return self.events([
                ("message_start", {"type": "message_start", "message": message}),
                ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                *(("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}})
                  for word in WORDS),
                ("content_block_stop", {"type": "content_block_stop", "index": 0}),
                ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                                   "usage": {"output_tokens": 3}}),
                ("message_stop", {"type": "message_stop"})])
        if path == "/v1/messages":
            return self.answer({**message, "content": [{"type": "text", "text": "".join(WORDS)}], "stop_reason": "end_turn"})
        if path == "/v1/customers":
            return self.answer({"id": "cus_1", "object": "customer"})
        if path == "/repos/o/r/issues":
            page = int(re.search(r"[?&]page=(\d+)", self.path)[1]) if "page=" in self.path.replace("per_page=", "") else 1
            link = {"Link": f'<{self.server.url}/repos/o/r/issues?per_page=2&page={page + 1}>; rel="next"'} if page < 3 else {}
            return self.answer([{"number": 2 * page - 1}, {"number": 2 * page}], **link)
        return self.answer({"done": True})

    do_GET = do_POST = handle_request

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def proxy(*options):
    """The URL of headway proxy with these options, and the lines it prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["setpriv", "--pdeathsig", "KILL", BINARY, "proxy", "--listen", "127.0.0.1:0", "--admin", "none", "--cold", "--alone"]
        with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder}) as process:
            try:
                line = process.stdout.readline()
                yield re.search(r"http://127\.0\.0\.1:\d+", line).group()
            finally:
                process.terminate()
                process.communicate()


def javascript(name, base):
    return subprocess.run(["node", HERE / "clients.js", name, base], capture_output=True, text=True, timeout=90,
                          env={**os.environ, "NODE_PATH": str(FETCHED)})


def python(name, base):
    return subprocess.run(["/usr/bin/python3", "-B", HERE / "clients.py", name, base], capture_output=True, text=True, timeout=90)


class Sdks(unittest.TestCase):
    def setUp(self):
        self.api = Api()
        self.addCleanup(self.api.server_close)
        self.addCleanup(self.api.shutdown)

    def through(self, run, name):
        """What a client printed; it was refused twice and heard nothing of it."""
        with proxy("--upstream", self.api.url) as url:
            done = run(name, url)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def once(self, *requests):
        self.assertEqual(self.api.carried_out, Counter(requests))
        self.assertTrue(all(tries > 2 for tries in self.api.tries.values()), self.api.tries)

    def test_openai(self):
        self.assertEqual(self.through(javascript, "openai"), {"whole": "Hello you", "streamed": "Hello you"})
        self.once(*2 * ["POST /v1/chat/completions key-openai"])

    def test_a_stream_that_is_aborted_ends_at_the_server(self):
        aborted = {"openai": javascript, "anthropic": javascript, "requests": python, "httpx": python, "aiohttp": python}
        with ThreadPoolExecutor() as pool:
            said = dict(zip(aborted, pool.map(lambda name: self.through(aborted[name], f"{name}_aborted"), aborted)))
            self.assertEqual(said, {name: {"chunks": 3} for name in aborted})
        wait_for(lambda: self.api.cut_off == {f"key-{name}-aborted" for name in aborted})

    def test_anthropic(self):
        self.assertEqual(self.through(javascript, "anthropic"), {"whole": "Hello you", "streamed": "Hello you"})
        self.once(*2 * ["POST /v1/messages key-anthropic"])

    def test_stripe(self):
        self.assertEqual(self.through(javascript, "stripe"), {"id": "cus_1"})
        self.once("POST /v1/customers sk_test_1")

    def test_octokit_follows_the_pages_through_the_proxy(self):
        self.assertEqual(self.through(javascript, "octokit"), {"numbers": [1, 2, 3, 4, 5, 6]})
        self.once(*3 * ["GET /repos/o/r/issues key-octokit"])

    def test_python_clients(self):
        for name in ("requests", "httpx", "aiohttp"):
            with self.subTest(name):
                self.api.carried_out.clear()
                self.assertEqual(self.through(python, name), {"done": True})
                self.once(f"POST /items key-{name}")

    def test_without_the_proxy_they_hear_of_it(self):
        self.assertIn("429", javascript("stripe", self.api.url).stderr)
        self.assertIn("429", python("requests", self.api.url).stderr)

    def test_curl(self):
        with proxy("--upstream", self.api.url) as url:
            done = subprocess.run(["curl", "-fsS", "-H", "Authorization: Bearer key-curl", "-d", "a=1", f"{url}/items"],
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, '{"done": true}'), done.stderr)
        self.once("POST /items key-curl")


@contextlib.contextmanager
def throttled_dynalite():
    """The URL of dynalite behind a server that refuses each operation twice, as DynamoDB does; and how often it was tried."""
    tries = Counter()
    body = json.dumps({"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "slow down"})
    refusal = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n{body}"

    def answer(request, _):
        operation = request.headers["x-amz-target"].partition(".")[2]
        tries[operation] += 1
        if tries[operation] <= 2:
            return refusal.encode()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as client:
            client.request(request.method, request.path, request.body, {**request.headers, "connection": "close"})
            said = client.getresponse()
            text = said.read()
            fields = "".join(f"{k}: {v}\r\n" for k, v in said.getheaders() if k.lower().startswith(("content-type", "x-amz")))
        return f"HTTP/1.1 {said.status} So\r\n{fields}Content-Length: {len(text)}\r\n\r\n".encode() + text

    with npm.dynalite() as port, Server(answer) as server:
        yield server.url, tries


class DynamoDB(unittest.TestCase):
    def judge(self, done, tries):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"v": "7"})
        self.assertTrue({"CreateTable", "PutItem", "GetItem"} <= tries.keys() and min(tries.values()) > 2, tries)

    def test_aws_sdk_for_javascript(self):
        with throttled_dynalite() as (server, tries), proxy("--upstream", server, "--profile=aws") as url:
            self.judge(javascript("dynamodb", url), tries)

    def test_boto3_names_the_server_and_goes_by_the_proxy(self):
        with throttled_dynalite() as (server, tries), tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
            config.write(f'[[upstream]]\nname = "dynamodb"\nurl = "{server}"\nprofile = "aws"\nvia-http-proxy = true\n')
            config.flush()
            with proxy("--config", config.name) as url:
                self.judge(python("boto3", f"{server}@{url}"), tries)


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main(verbosity=2)
