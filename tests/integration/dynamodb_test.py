"""dynalite, a DynamoDB, behind nginx that throttles as DynamoDB does: what was written is in the table."""
import contextlib
import json
import time
import unittest

import botocore.session
import npm
import servers
from work import Work, measured

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
OPTIONS = "--cold", "--profile", "aws", "--aws-sigv4", "aws:amz:us-east-1:dynamodb"
THROTTLED = (
    '{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow"}'
)
TABLE = "items"


@contextlib.contextmanager
def throttled(port, rate):
    """nginx before dynalite: `rate` requests a second."""
    location = f"""limit_req zone=all burst=5 nodelay; limit_req_status 470; error_page 470 =400 @slow;
      proxy_set_header Host $http_host; client_max_body_size 16m; client_body_buffer_size 16m;
      proxy_buffers 64 64k; proxy_pass http://127.0.0.1:{port}; }}
    location @slow {{ default_type application/x-amz-json-1.0; return 400 '{THROTTLED}'; }}
    location /unused {{"""
    with servers.nginx(location, f"limit_req_zone $binary_remote_addr zone=all:1m rate={rate}r/s;") as front:
        yield front


def client(port):
    """AWS's own, straight to dynalite."""
    session = botocore.session.get_session()
    return session.create_client(
        "dynamodb", "us-east-1", endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"], aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )


def call(front, id, operation, body):
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    return json.dumps({"url": f"{front.url}/", "id": str(id), "headers": headers, "body": body})


def put(key, size):
    return {"PutRequest": {"Item": {"k": {"S": key}, "v": {"S": "x" * size}}}}


def scan(table):
    """The keys in the table."""
    found, more = [], {}
    while True:
        page = table.scan(TableName=TABLE, ProjectionExpression="k", **more)
        found += [item["k"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return sorted(found)
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


class DynamoDB(unittest.TestCase):
    def test_what_is_written_is_there_and_what_is_read_is_whole(self):
        writes, batch, size = 80, 25, 30_000
        keys = [[f"{i:03}.{k:02}" for k in range(batch)] for i in range(writes)]
        with npm.dynalite() as port, throttled(port, 20) as front:
            table = client(port)
            table.create_table(
                TableName=TABLE,
                KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            while table.describe_table(TableName=TABLE)["Table"]["TableStatus"] != "ACTIVE":
                time.sleep(0.01)

            lines = [
                call(front, i, "BatchWriteItem", {"RequestItems": {TABLE: [put(key, size) for key in batch]}})
                for i, batch in enumerate(keys)
            ]
            with Work(lines) as work:
                self.assertEqual(work.run(*OPTIONS, **KEYS), 0, work.stderr())
                self.assertEqual(set(work.outcomes().values()), {"success"})
            refused, asked = self.throttled(front)
            measured(f"{writes} batches written: {refused} of {asked} refused")
            self.assertGreater(refused, 0, "nothing was throttled: nothing is shown")
            self.assertEqual(scan(table), sorted(sum(keys, [])))

            # An answer has at most a MiB: the rest of the keys are UnprocessedKeys, and asked for again.
            hundreds = [sum(keys[i : i + 4], []) for i in range(0, writes, 4)]
            lines = [
                call(front, i, "BatchGetItem", {"RequestItems": {TABLE: {"Keys": [{"k": {"S": k}} for k in hundred]}}})
                for i, hundred in enumerate(hundreds)
            ]
            with Work(lines) as work:
                self.assertEqual(work.run(*OPTIONS, **KEYS), 0, work.stderr())
                self.assertEqual(len(work.results()), len(hundreds))
                for result in work.results():
                    body = result["body"]
                    read = [item["k"]["S"] for item in body["Responses"][TABLE]]
                    self.assertEqual(sorted(read), hundreds[int(result["id"])])
                    self.assertEqual(body["UnprocessedKeys"], {})
            asked = self.throttled(front)[1] - asked
            measured(f"{len(hundreds)} batches read, in {asked} requests")
            self.assertGreater(asked, 2 * len(hundreds), "no key was left unprocessed: nothing is shown")

    @staticmethod
    def throttled(front):
        log = front.log()
        return sum(r.status == 400 for r in log), len(log)


if __name__ == "__main__":
    npm.require_fetched()
    unittest.main()
