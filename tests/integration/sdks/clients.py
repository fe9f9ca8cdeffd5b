"""Each Python client as its documentation calls it. usage: clients.py NAME BASE-URL; prints a line of JSON."""
import asyncio
import json
import sys

name, base = sys.argv[1:]


def with_requests():
    import requests
    answer = requests.post(f"{base}/items", json={"a": 1}, headers={"Authorization": "Bearer key-requests"}, timeout=60)
    answer.raise_for_status()
    return answer.json()


def with_httpx():
    import httpx
    answer = httpx.post(f"{base}/items", json={"a": 1}, headers={"Authorization": "Bearer key-httpx"}, timeout=60)
    answer.raise_for_status()
    return answer.json()


def with_aiohttp():
    import aiohttp

    async def post():
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer key-aiohttp"}, raise_for_status=True) as session:
            async with session.post(f"{base}/items", json={"a": 1}) as answer:
                return await answer.json()

    return asyncio.run(post())


ENDLESS = {"json": {"model": "endless", "stream": True}, "timeout": 60}


def with_requests_aborted():
    import requests
    with requests.post(f"{base}/v1/chat/completions", headers={"Authorization": "Bearer key-requests-aborted"}, stream=True, **ENDLESS) as answer:
        return {"chunks": sum(1 for _, line in zip(range(3), answer.iter_lines()))}


def with_httpx_aborted():
    import httpx
    with httpx.stream("POST", f"{base}/v1/chat/completions", headers={"Authorization": "Bearer key-httpx-aborted"}, **ENDLESS) as answer:
        return {"chunks": sum(1 for _, line in zip(range(3), answer.iter_lines()))}


def with_aiohttp_aborted():
    import aiohttp

    async def post():
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer key-aiohttp-aborted"}) as session:
            async with session.post(f"{base}/v1/chat/completions", **ENDLESS) as answer:
                return {"chunks": len([await answer.content.readline() for _ in range(3)])}

    return asyncio.run(post())


def with_boto3():
    """The real Host is signed: the proxy is named as one, and speaks to the endpoint itself."""
    import boto3
    from botocore.config import Config
    endpoint, proxy = base.split("@")
    client = boto3.client(
        "dynamodb", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="AK", aws_secret_access_key="SK",
        config=Config(proxies={"http": proxy}, retries={"total_max_attempts": 1}))
    client.create_table(TableName="boto", BillingMode="PAY_PER_REQUEST",
                        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
                        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}])
    client.get_waiter("table_exists").wait(TableName="boto", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    client.put_item(TableName="boto", Item={"k": {"S": "a"}, "v": {"N": "7"}})
    return {"v": client.get_item(TableName="boto", Key={"k": {"S": "a"}})["Item"]["v"]["N"]}


print(json.dumps(globals()[f"with_{name}"]()))
