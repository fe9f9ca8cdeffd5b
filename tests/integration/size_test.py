"""As many requests in flight as are asked for, by nginx's log; or a word before anything is sent."""
import unittest

import servers
from work import Work, gets, measured, succeeded


class Size(unittest.TestCase):
    def test_two_thousand_in_flight(self):
        with servers.nginx(latency_ms=(3000, 3000)) as server, Work(gets(server, 3000)) as work:
            options = "--cold", "--law", "fixed", "--concurrency", "2000"
            self.assertEqual(work.run(*options), 0, work.stderr())
            peak = server.log().peak_in_flight()
            self.assertEqual(work.outcomes(), succeeded(3000))
        measured(f"--concurrency 2000: at most {peak} in flight at nginx")
        self.assertLessEqual(peak, 2000)
        self.assertGreaterEqual(peak, 1990)  # the last ones of the first round, where its answers come in

    def test_more_than_the_file_limit_allows(self):
        with servers.nginx() as server, Work(gets(server, 10)) as work:
            limited = {"prlimit": ("--nofile=200:1000",)}
            self.assertEqual(work.run("--cold", "--concurrency", "2000", **limited), 2)
            self.assertEqual(
                work.stderr(),
                "headway: --concurrency 2000: the limit of 1000 open files (ulimit -Hn) leaves room for "
                "952; want from 1 to 952\n",
            )
            self.assertEqual(server.log(), [])
            self.assertEqual([f.name for f in work.path.iterdir() if f.name.startswith("jobs.")], ["jobs.txt"])
            self.assertEqual(work.run("--cold", "--concurrency", "952", **limited), 0, work.stderr())

    def test_many_streams_share_few_connections(self):
        with Work() as work:
            certificate = servers.certificate(work.path)
            with servers.nginx(
                "access_log protocols.log protocols;",
                "log_format protocols '$server_protocol $connection'; http2_max_concurrent_streams 1000;",
                latency_ms=(1500, 1500),
                certificate=certificate,
            ) as server:
                work.write(gets(server, 1000))
                options = "--cold", "--law", "fixed", "--concurrency", "500", "--cacert", certificate
                self.assertEqual(work.run(*options), 0, work.stderr())
                lines = (server.folder / "protocols.log").read_text().splitlines()
            self.assertEqual(work.outcomes(), succeeded(1000))
        connections = len({line.split()[1] for line in lines})
        measured(f"500 in flight over HTTP/2: {connections} connections")
        self.assertEqual({line.split()[0] for line in lines}, {"HTTP/2.0"})
        self.assertLessEqual(connections, 2)


if __name__ == "__main__":
    unittest.main()
