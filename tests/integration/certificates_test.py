"""Certificates that must not be believed: one clear reason, one attempt, and nginx sees no request."""
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

import servers
from work import Work, measured

LEAF = "basicConstraints=critical,CA:FALSE", "subjectAltName=IP:127.0.0.1"
CA = ("basicConstraints=critical,CA:TRUE",)
WEAK = "openssl_conf=all\n[all]\nssl_conf=ssl\n[ssl]\nsystem_default=weak\n[weak]\nCipherString=DEFAULT@SECLEVEL=0\n"


class Certificate(NamedTuple):
    name: str
    pem: str
    key: str


class Case(NamedTuple):
    chain: list  # certificates that nginx shows, the first with its key
    trusted: Certificate
    reason: str  # "" where it must be believed
    host: str = "127.0.0.1"
    protocols: str = "TLSv1.2 TLSv1.3"


class Authority:
    """Issues certificates in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.good = self.issue("good CA", None, CA)

    def issue(self, name, by, extensions=LEAF, key="ec", digest="sha256"):
        """Signed by `by`, or by itself."""
        file = self.folder / name.replace(" ", "-")
        command = ["openssl", "req", "-x509", "-new", "-newkey", key, "-nodes", "-days", "9", f"-{digest}"]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256"] if key == "ec" else []
        command += ["-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.pem"]
        for extension in extensions:
            command += ["-addext", extension]
        if by:
            issuer = self.folder / by.name.replace(" ", "-")
            command += ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key"]
        env = {"PATH": "/usr/bin:/bin", "OPENSSL_CONF": str(self.weak())}
        subprocess.run(command, check=True, capture_output=True, env=env)
        return Certificate(name, Path(f"{file}.pem").read_text(), Path(f"{file}.key").read_text())

    def weak(self):
        """OpenSSL's settings that allow anything: for the server, which is not what is tested."""
        file = self.folder / "weak.cnf"
        file.write_text(WEAK + "[req]\ndistinguished_name=names\n[names]\n")
        return file

    def dated(self, begins, ends):
        """Signs itself, for a while."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            both = servers.certificate(folder, begins, ends).read_text()
            end = both.index("-----BEGIN PRIVATE")
            return Certificate("dated", both[:end], both[end:])

    def cases(self):
        good, issue = self.good, self.issue
        other = issue("other CA", None, CA)
        between = issue("intermediate", good, CA)
        no_ca = issue("not a CA", good)
        leaf = issue("leaf", good)
        behind = issue("behind", between)
        rsa = issue("RSA CA", None, CA, key="rsa:2048")  # MD5 signs with no other
        wild = issue("wild", good, ("subjectAltName=DNS:*.x.localhost",))
        client = issue("client", good, (*LEAF, "extendedKeyUsage=clientAuth"))
        yield "the good one", Case([leaf], good, "")
        yield "through an intermediate", Case([behind, between], good, "")
        yield "a wildcard", Case([wild], good, "", "a.x.localhost")
        yield "signed by itself", Case([issue("alone", None)], good, "self-signed certificate")
        yield "an unknown CA", Case([issue("theirs", other)], good, "unable to get local issuer")
        yield "a CA of the same name", Case(
            [issue("forged", issue("good CA ", None, CA))], good, "unable to get local issuer")
        yield "its CA sent along", Case([issue("along", other), other], good, "self-signed certificate in certificate chain")
        yield "expired", Case([old := self.dated("20000101000000Z", "20010101000000Z")], old, "certificate has expired")
        yield "not yet valid", Case([new := self.dated("20900101000000Z", "20990101000000Z")], new, "not yet valid")
        yield "another host", Case([leaf], good, "no alternative certificate subject name matches", "localhost")
        yield "a wildcard for one more label", Case([wild], good, "no alternative certificate subject name matches", "a.b.x.localhost")
        yield "a wildcard for no label", Case([wild], good, "no alternative certificate subject name matches", "x.localhost")
        yield "an issuer that is no CA", Case([issue("below", no_ca), no_ca], good, "invalid CA certificate")
        yield "a missing intermediate", Case([behind], good, "unable to get local issuer")
        yield "only for clients", Case([client], good, "unsuitable certificate purpose")
        yield "a short key", Case([issue("short", good, key="rsa:1024")], good, "key too weak")
        yield "SHA-1", Case([issue("sha1", between, digest="sha1"), between], good, "digest algorithm too weak")
        yield "MD5", Case([issue("md5", rsa, digest="md5")], rsa, "digest algorithm too weak")
        yield "TLS 1.0", Case([leaf], good, "protocol version", protocols="TLSv1")
        yield "TLS 1.1", Case([leaf], good, "protocol version", protocols="TLSv1.1")


class Certificates(unittest.TestCase):
    def test_only_the_good_ones_are_believed(self):
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(folder)
            cases = list(authority.cases())
            for name, case in cases:
                with self.subTest(name):
                    self.try_one(authority, case)
        measured(f"{sum(not c.reason for _, c in cases)} good chains believed, of {len(cases)}")

    def try_one(self, authority, case):
        shown, trusted = authority.folder / "shown", authority.folder / "trusted"
        shown.write_text("".join(c.pem for c in case.chain) + case.chain[0].key)
        trusted.write_text(case.trusted.pem)
        http = f"ssl_protocols {case.protocols};"
        with servers.nginx(http=http, certificate=shown, openssl=authority.weak()) as server:
            with Work([server.url.replace("127.0.0.1", case.host) + "/1"]) as work:
                weak = {"OPENSSL_CONF": str(authority.weak())} if "TLSv1.2" not in case.protocols else {}
                code = work.run("--cold", "--no-canary", "--cacert", trusted, **weak)
                (result,) = work.results()
                self.assertEqual(code, 1 if case.reason else 0, work.stderr())
                self.assertEqual(len(server.log()), 0 if case.reason else 1)
                self.assertIn(case.reason, result.get("reason", ""))
                # A handshake that broke off may have been the network's fault.
                self.assertLessEqual(result["attempts"], 1 if "TLSv1.2" in case.protocols else 4)


if __name__ == "__main__":
    unittest.main()
