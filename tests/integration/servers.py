"""Real servers to be judged by, each in a folder and on a port of its own while the block lasts."""
import contextlib
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import log

NGINX = """
load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;
daemon off;
master_process off;
pid pid;
error_log error.log warn;
events {{ worker_connections 8192; }}
http {{
  log_format judge '$msec $request_time $status $request_method $request_uri $http_authorization';
  access_log access.log judge;
  default_type text/plain;
  keepalive_requests 1000000;
  limit_req_log_level info;
  limit_conn_log_level info;
  client_body_temp_path tmp; proxy_temp_path tmp;
  fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  split_clients $request_id $latency {{ {latencies} * {last}; }}
  {http}
  server {{ listen unix:probe; access_log off; return 204; }}
  server {{
    listen {host}:{port} reuseport backlog=4096 {tls};
    location / {{ {location} error_page 429 = @throttled; echo_sleep $latency; echo ok; }}
    location @throttled {{ {retry_after} return 429; }}
  }}
}}
"""

HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option http-ignore-probes
  log stdout format raw local0
frontend limited
  bind 127.0.0.1:{port}
  log-format "%[date(0,ms)] %Ta %ST %HM %HP"
  stick-table type ip size 1k expire 1m store http_req_rate({seconds}s)
  http-request track-sc0 src
  http-request {refuse} if {{ sc_http_req_rate(0) gt {limit} }}
  default_backend behind
backend behind
  server nginx 127.0.0.1:{behind}
"""


class Server:
    """A running server: its url, its folder, and its log so far."""

    def __init__(self, port, folder, scheme="http", unit=1.0, host="127.0.0.1"):
        self.url = f"{scheme}://{host}:{port}"
        self.port = port
        self.folder = folder
        self.unit = unit  # of the times in the log, in seconds

    def settle(self):
        """Returns once nginx, which writes its log after the answer, has done so."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:  # it may be down, or HAProxy
            probe.settimeout(5)
            probe.connect(str(self.folder / "probe"))
            probe.sendall(b"GET / HTTP/1.0\r\n\r\n")
            probe.recv(1)

    def log(self):
        self.settle()
        return log.read(self.folder / "access.log", self.unit)


@contextlib.contextmanager
def nginx(location="", http="", latency_ms=(0, 0), retry_after=None, certificate=None, openssl=None, host="127.0.0.1"):
    """nginx whose answers take `latency_ms` (from, to); `location`, `http` and `openssl` configure it."""
    low, high = latency_ms
    latencies = [f"{(low + (high - low) * i / 15) / 1000:.3f}" for i in range(16)]
    if certificate:
        http += f" ssl_certificate {certificate}; ssl_certificate_key {certificate};"
    with tempfile.TemporaryDirectory() as folder, closed_port() as port:
        config = NGINX.format(
            host=host,
            port=port,
            http=http,
            location=location,
            tls="ssl http2" if certificate else "",
            retry_after=f"add_header Retry-After {retry_after} always;" if retry_after else "",
            latencies=" ".join(f"6.25% {s};" for s in latencies[:-1]),
            last=latencies[-1],
        )
        Path(folder, "nginx.conf").write_text(config)
        command = ["nginx", "-p", folder, "-e", "error.log", "-c", "nginx.conf"]
        if os.geteuid() == 0:  # perhaps the only user that there is in our namespace
            command += ["-g", "user root;"]
        with running(command, folder, port, {"OPENSSL_CONF": str(openssl)} if openssl else {}, host):
            yield Server(port, Path(folder), "https" if certificate else "http", host=host)
        errors = Path(folder, "error.log").read_text()
        assert not errors, errors


def limit_req(rate, how, latency_ms=(20, 80), retry_after=None):
    """nginx that takes `rate` requests a second; `how` are the parameters of its limit_req."""
    return nginx(
        f"limit_req zone=all {how};",
        f"limit_req_zone $binary_remote_addr zone=all:1m rate={rate}r/s;",
        latency_ms,
        retry_after,
    )


@contextlib.contextmanager
def haproxy(limit, behind, refuse="return status 429", seconds=1):
    """HAProxy before `behind`: `limit` requests in any so many seconds, as two counters estimate it, refused ones counted too;
    `refuse` is its action."""
    with tempfile.TemporaryDirectory() as folder, closed_port() as port:
        Path(folder, "haproxy.cfg").write_text(
            HAPROXY.format(port=port, limit=limit, behind=behind.port, refuse=refuse, seconds=seconds)
        )
        with running(["haproxy", "-db", "-f", "haproxy.cfg"], folder, port):
            yield Server(port, Path(folder), unit=0.001)


@contextlib.contextmanager
def closed_port():
    """A port that refuses connections until a server of ours shares it (SO_REUSEPORT)."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextlib.contextmanager
def running(command, folder, port, environment={}, host="127.0.0.1"):
    # It dies with the thread that started it, however that ends.
    guarded = ["prlimit", "--nofile=16384", "setpriv", "--pdeathsig", "KILL", *command]
    with open(Path(folder, "access.log"), "ab") as out:
        child = subprocess.Popen(
            guarded,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
        )
    try:
        while not listening(port, host):
            assert child.poll() is None, f"{command[0]} did not start"
            time.sleep(0.01)
        yield
        assert child.poll() is None, f"{command[0]} died"
    finally:
        child.terminate()
        child.wait()


def listening(port, host="127.0.0.1"):
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def certificate(folder, begins="20000101000000Z", ends="20991231000000Z"):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    Path(folder, "ca.cnf").write_text(
        "[ca]\ndatabase=index\nrand_serial=yes\ndefault_md=sha256\npolicy=names\ncopy_extensions=copy\n"
        "[names]\ncommonName=supplied\n"
    )
    Path(folder, "index").touch()
    for command in (
        "req -new -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 "
        "-keyout key.pem -out request.pem",
        "ca -batch -config ca.cnf -name ca -selfsign -keyfile key.pem -in request.pem -notext "
        f"-startdate {begins} -enddate {ends} -outdir . -out certificate.pem",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    both = Path(folder, "both.pem")
    both.write_text(
        Path(folder, "certificate.pem").read_text() + Path(folder, "key.pem").read_text()
    )
    return both
