"""A server for what no real one does on demand: it may close a connection instead of answering."""
import contextlib
import json
import socket
import socketserver
import threading
import time
from typing import NamedTuple


class Heard(NamedTuple):
    method: str
    path: str
    headers: dict  # names in lower case
    body: bytes


class Server(socketserver.ThreadingTCPServer):
    """`answer` is told a request and how many its connection had before: bytes, None to close, or
    parts (an iterator of bytes) after which it closes."""

    daemon_threads = True
    request_queue_size = 128  # connections at once, none of which is to be put off

    def __init__(self, answer, port=0, host="127.0.0.1"):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Connection)
        self.answer = answer
        self.heard = []
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        before = 0
        while request := self.read():
            self.server.heard.append(request)
            answer = self.server.answer(request, before)
            if isinstance(answer, bytes):
                self.wfile.write(answer)
                before += 1
                continue
            with contextlib.suppress(ConnectionError):  # a client that has had enough hangs up
                for part in answer or ():
                    self.wfile.write(part)
            return

    def read(self):
        first = self.rfile.readline().decode()
        if not first:
            return None
        headers = {}
        while line := self.rfile.readline().decode().strip():
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        method, path, _ = first.split()
        return Heard(method, path, headers, self.rfile.read(int(headers.get("content-length", 0))))


def ok(body=b"ok", kind="text/plain"):
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


class Scripted(Server):
    """Answers by `script(number, request)` -> (status, headers, body), one at a time."""

    def __init__(self, script, port=0):
        super().__init__(self.answered, port)
        self.script = script
        self.lock = threading.Lock()
        self.log = []  # (time, path, status)

    def answered(self, request, _):
        with self.lock:
            status, headers, body = self.script(len(self.log), request)
            self.log.append((time.monotonic(), request.path, status))
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {**headers, "Content-Length": len(body)}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"HTTP/1.1 {status} Scripted\r\n{head}\r\n".encode() + body
