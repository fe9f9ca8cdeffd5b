"""--aws-sigv4: what AWS's own library would have signed, by that library."""
import re
import unittest

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from sockets import Scripted
from work import Work

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEYS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}


def signature_of(request, service):
    """What botocore signs for it, over the headers that were signed."""
    given = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=(\w+)",
        request.headers["authorization"],
    )
    signed = given[2].split(";")
    copy = AWSRequest(
        method=request.method,
        url=f"http://{request.headers['host']}{request.path}",
        data=request.body,
        headers={name: request.headers[name] for name in signed if name != "host"},
    )
    copy.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(Credentials(KEY, SECRET), service, "eu-west-1")
    return given[3], auth.signature(auth.string_to_sign(copy, auth.canonical_request(copy)), copy)


class SigV4(unittest.TestCase):
    def sent(self, lines, *options, refuse=0, **environment):
        """Requests as they came, of a run that succeeded."""
        script = lambda n, _: ((429 if n < refuse else 200), {}, b"{}")
        with Scripted(script) as server, Work([line.replace("URL", server.url) for line in lines]) as work:
            code = work.run("--aws-sigv4", "aws:amz:eu-west-1:dynamodb", *options, **environment)
            self.assertEqual(code, 0, work.stderr())
            for file in work.path.rglob("*"):
                self.assertFalse(file.is_file() and SECRET.encode() in file.read_bytes(), file)
        return server.heard

    def test_every_attempt_is_signed(self):
        body = '{"url":"URL/","headers":{"X-Amz-Target":"DynamoDB_20120810.PutItem"},"body":{"a":"\\u00e9"}}'
        seen = self.sent([body, "URL/x?b=2&a=1%202&acl", '{"url":"URL/","body":"{}"}'], refuse=2, **KEYS)
        self.assertEqual(len(seen), 5)
        for request in seen:
            ours, theirs = signature_of(request, "dynamodb")
            self.assertEqual(ours, theirs, request)

    def test_a_session_token_is_sent(self):
        (request,) = self.sent(["URL/"], AWS_SESSION_TOKEN="token-1", **KEYS)
        self.assertEqual(request.headers["x-amz-security-token"], "token-1")
        self.assertEqual(*signature_of(request, "dynamodb"))

    def test_what_is_missing_is_said(self):
        for value, words in (("aws:amz:eu", "want aws:amz:REGION:SERVICE"), ("aws:amz:a:b", "must be set")):
            with Work(["http://127.0.0.1:1/"]) as work:
                self.assertEqual(work.run("--aws-sigv4", value, AWS_ACCESS_KEY_ID=""), 2)
                self.assertIn(words, work.stderr())


if __name__ == "__main__":
    unittest.main()
