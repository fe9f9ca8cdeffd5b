"""Nothing is carried out twice: by the origin's log, whatever goes wrong, the proxy's death included.

HEADWAY_POSTS=10000 is the long form.
"""
import http.client
import os
import random
import signal
import threading
import time
import unittest
from collections import Counter

from proxy import Proxy, start
from sockets import Server, ok
from work import measured

POSTS = int(os.environ.get("HEADWAY_POSTS", 1500))
KILLS = max(POSTS // 500, 2)
SEED = int(os.environ.get("HEADWAY_SEED") or random.randrange(10**6))
REFUSED = b"HTTP/1.1 429 No\r\nContent-Length: 2\r\n\r\nno"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
BROKEN = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"


class Once(unittest.TestCase):
    def test_each_post_is_carried_out_once_at_most(self):
        """Planted: broke() repeats what was sent; then ids are carried out twice."""
        chance, lock, carried_out = random.Random(SEED), threading.Lock(), Counter()

        def answer(request, _):
            with lock:
                fate = chance.random()
                if fate >= 0.25:
                    carried_out[request.body] += 1
            if fate < 0.15:
                return REFUSED  # not carried out
            if fate < 0.25:
                return BUSY  # not carried out
            if fate < 0.30:
                return None  # carried out, and silence
            if fate < 0.33:
                return iter([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
            if fate < 0.36:
                return BROKEN  # carried out, or so
            return ok(request.body)

        ends, ids = Counter(), iter(range(POSTS))
        with Server(answer) as origin, Proxy(origin.url, "--cold", "--alone", "--law=fixed") as proxy:
            fixed = [*proxy.options[:1], f"--listen=127.0.0.1:{proxy.port}", "--admin=none", *proxy.options[3:]]

            def post():
                while True:
                    with lock:
                        id = next(ids, None)
                    if id is None:
                        return
                    body = f"id{id}".encode()
                    while True:  # until it has been accepted by a proxy that lives
                        client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
                        try:
                            client.connect()
                            break
                        except OSError:
                            time.sleep(0.02)
                    try:
                        client.request("POST", "/", body)
                        response = client.getresponse()
                        said = response.read()
                        with lock:
                            if response.status == 200:
                                ends["200" if said == body and carried_out[body] == 1 else "wrong"] += 1
                            elif response.status == 502:
                                ends["502 sent" if b"may have been carried out" in said else "502"] += 1
                            else:
                                ends[str(response.status)] += 1
                    except (OSError, http.client.HTTPException):
                        with lock:
                            ends["broke"] += 1
                    finally:
                        client.close()

            threads = [threading.Thread(target=post) for _ in range(24)]
            for t in threads:
                t.start()
            for n in range(KILLS):
                while sum(ends.values()) < POSTS * (n + 1) // (KILLS + 1):
                    time.sleep(0.01)
                proxy.process.send_signal(signal.SIGKILL)
                proxy.process.wait()
                proxy.process.stdout.close()
                proxy.process = start(proxy.folder, fixed)
                proxy.process.stdout.readline()
            for t in threads:
                t.join(300)
            twice = [id for id, n in carried_out.items() if n > 1]
        measured(f"seed {SEED}: {POSTS} POSTs, {KILLS} kills: {dict(ends)}; carried out twice: {len(twice)}")
        self.assertEqual(twice, [])
        self.assertEqual(sum(ends.values()), POSTS)
        self.assertNotIn("wrong", ends)
        self.assertGreater(ends["200"], POSTS // 2)
        self.assertGreater(ends["502 sent"], 0)


if __name__ == "__main__":
    unittest.main()
