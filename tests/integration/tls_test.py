"""HTTPS: many requests share one connection of HTTP/2, and a compressed body is unpacked."""
import unittest

import servers
from work import Work, gets, succeeded

JOBS = 100


class Tls(unittest.TestCase):
    def test_http2_and_compression(self):
        with Work() as work:
            certificate = servers.certificate(work.path)
            protocols = (
                "access_log protocols.log protocols; gzip on; gzip_min_length 1; gzip_types *;"
            )
            with servers.nginx(
                protocols,
                "log_format protocols '$server_protocol $connection $sent_http_content_encoding';",
                latency_ms=(50, 50),
                certificate=certificate,
            ) as server:
                work.write(gets(server, JOBS))
                self.assertEqual(work.run("--cacert", certificate), 0, work.stderr())
                lines = (server.folder / "protocols.log").read_text().split("\n")[:-1]
            self.assertEqual(work.outcomes(), succeeded(JOBS))
            self.assertEqual({result["body"] for result in work.results()}, {"ok\n"})
            self.assertEqual(len(lines), JOBS)
            self.assertEqual({line.split()[0] for line in lines}, {"HTTP/2.0"})
            self.assertEqual({line.split()[2] for line in lines}, {"gzip"})
            self.assertEqual(len({line.split()[1] for line in lines}), 1, "connections")

    def test_a_name_that_is_not_in_the_certificate(self):
        with Work() as work:
            certificate = servers.certificate(work.path)
            with servers.nginx(certificate=certificate) as server:
                work.write([server.url.replace("127.0.0.1", "localhost") + "/1"])
                self.assertEqual(work.run("--cacert", certificate), 77)
                self.assertEqual(server.log(), [])
            self.assertIn("certificate", work.stderr())
            self.assertEqual(work.outcomes(), {}, "its line is left open")


if __name__ == "__main__":
    unittest.main()
