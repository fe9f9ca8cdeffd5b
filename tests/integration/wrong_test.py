"""Wrong command lines and files: each is answered at once, in one line, with what is wrong, where, and what is allowed."""
import concurrent.futures
import gzip
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import sockets
from work import BINARY

TIME = "is not a time, such as 250us, 50ms, 2s, 1.5min or 1h"
COUNT = "is not a count per time, such as 50/s, 300/min or 10/250ms"
SHARE = "is not a share from 0% to 100%"
STATUSES = "is neither a status from 200 to 599 nor a range, such as 200-299,404"
POINTER = "not a JSON pointer, such as /choices/0/message"
THRESHOLD = "is not failed, unknown or throttled, then > and a limit: failed>50, throttled>1%"
BOUND = "want from 1ms to 8760h"
ADDRESS = "want ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080; port 0 is any free one"
FINE = "0 failed, 0 unknown"

# (arguments, exit code, what standard error or output says); {url} is a server that serves.
COMMANDS = (
    ("rnu one.txt", 2, 'no command "rnu"; did you mean "run"?', "run, exec, proxy, mock, replay, simulate"),
    ("one.txt", 2, 'did you mean "headway run one.txt"?'),
    ("", 2, "want a command: run, exec, proxy, mock, replay, simulate"),
    ("run", 2, "JOBS is required: a file of requests, a URL, or - for standard input"),
    ("run nofile.txt", 2, "nofile.txt: cannot open it: No such file or directory"),
    ("run one.txt --hedaer A:b", 2, 'run has no option --hedaer; did you mean "--header"?'),
    ("run one.txt --header Authorization Bearer x", 2, "--header: want 'Name: value'"),
    ("run one.txt --header A:${env:NOPE_X}", 2, '--header: environment variable "NOPE_X" is not set'),
    ("run one.txt --header A:$NOPE", 0, "is sent with a $NAME as it stands; ${env:NAME} is its value", FINE),
    ("run one.txt --rate 50", 2, f"--rate '50': '50' {COUNT}"),
    ("run one.txt --rate 50/sec", 0, FINE),
    ("run one.txt --rate 50/s/s", 2, "--rate '50/s/s': 's/s' is not a time, such as"),
    ("run one.txt --rate -5/s", 2, f"--rate '-5/s': '-5/s' {COUNT}"),
    ("run one.txt --rate 0/s", 2, "rate '0/s' is not from one a day to 1000000/s"),
    ("run one.txt --rate 3M/min", 0, FINE),
    ("run one.txt --rate h{=5/s", 2, "want HOST=VALUE or HOST:PORT=VALUE"),
    ("run one.txt --rate 127.0.0.1=5", 2, f"--rate for 127.0.0.1 '5': '5' {COUNT}"),
    ("run one.txt --rate 6/s --rate h=", 2, "--rate for h ''"),
    ("run one.txt --concurrency h=many", 2, "--concurrency for h 'many'"),
    ("run one.txt --rate 5/s --rate 6/s", 2, "--rate is given twice; want HOST=RATE for one of them"),
    ("run one.txt --concurrency 0", 2, "--concurrency '0': want a whole number from 1 to 60000"),
    ("run one.txt --concurrency -3", 2, "--concurrency '-3': want a whole number from 1 to 60000"),
    ("run one.txt --concurrency 99999999", 2, "want a whole number from 1 to 60000"),
    ("run one.txt --time-max 5", 2, f"--time-max '5': '5' {TIME}"),
    ("run one.txt --time-max 5minutes", 0, FINE),
    ("run one.txt --time-max 0s", 2, f"--time-max '0s': {BOUND}"),
    ("run one.txt --leave 30", 2, f"--leave '30': '30' {SHARE}"),
    ("run one.txt --leave 130%", 2, f"--leave '130%': '130%' {SHARE}"),
    ("run one.txt --leave 0.3", 2, f"--leave '0.3': '0.3' {SHARE}"),
    ("run one.txt --law sek", 2, '--law sek: no such law; did you mean "seek"?; it is one of seek, reno'),
    ("run one.txt --profile opnai", 2, '--profile "opnai"; did you mean "openai"?: known are airtable, anthropic'),
    ("run one.txt --profile ./nothere.toml", 2, '--profile "./nothere.toml": cannot be read'),
    ("run one.txt --only 0", 2, "--only: Value 0 not in range 1 to 1000000000000"),
    ("run one.txt --spend-max 5", 2, "--spend-max '5': not NAME=UNITS, such as tokens=5M"),
    ("run one.txt --spend-max tokens=5m", 2, "'5m' is not a number of units from 1e-06 to 1e+12, such as 500, 90k or 1.5M"),
    ("run one.txt --spend-max usd=5", 77, "usd"),
    ("run one.txt --stop-if errors>5", 2, THRESHOLD),
    ("run one.txt --stop-if failed' '>5", 2, THRESHOLD),
    ("run one.txt --ok 2xx", 2, f'--ok \'2xx\': "2xx" {STATUSES}'),
    ("run one.txt --ok 200..299", 2, STATUSES),
    ("run one.txt --select choices.0.message", 2, f"--select 'choices.0.message': {POINTER}"),
    ("run one.txt --select .choices[0]", 2, POINTER),
    ("run one.txt --out-dir /proc/nope", 74, 'cannot make the folder "/proc/nope"'),
    ("run one.txt --out /nodir/x", 2, '--out "/nodir/x": there is no folder /nodir'),
    ("run one.txt --out /", 2, '--out "/" is a folder; want a file'),
    ("run one.txt --journal /nodir/x", 74, "cannot open /nodir/x: No such file or directory"),
    ("run one.txt --method PUT", 2, "--method requires --url"),
    ('run one.txt --body {"a":1}', 2, "--body requires --url"),
    ("run one.txt --retry-budget 20", 2, f"--retry-budget '20': '20' {SHARE}"),
    ("run one.txt --again faild", 2, "--again: faild not in {"),
    ("run one.txt --progress josn", 2, "--progress: josn not in {auto,json,none}"),
    ("run one.txt --cacert nofile.pem", 2, "--cacert: File does not exist: nofile.pem"),
    ("run one.txt --header-cmd Authorization:x", 2, "--header-cmd: want 'Name: $(COMMAND)', in single quotes"),
    ("run one.txt --header-cmd A:$(false)", 2, "--header-cmd: the command for A failed with exit code 1"),
    ("run one.txt --aws-sigv4 aws:amz:eu-west-1", 2, "want aws:amz:REGION:SERVICE"),
    ("run one.txt --aws-sigv4 aws:amz:eu-west-1:s3", 2, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set"),
    ("run one.txt --base-url 127.0.0.1:18601", 2, "--base-url: url", "want http://… or https://…"),
    ("run one.txt --connect-timeout 0s", 2, f"--connect-timeout '0s': {BOUND}"),
    ("run one.txt --timeout 0s", 2, f"--timeout '0s': {BOUND}"),
    ("exec --out /nodir/x -- true ::: 1", 2, '--out "/nodir/x": there is no folder /nodir'),
    ("run mac.txt", 2, "mac.txt:1: lines end with CR; want LF: tr '\\r' '\\n' < mac.txt > mac.txt.lf"),
    ("run one.txt --wait-max 0s", 2, f"--wait-max '0s': {BOUND}"),
    ("run one.txt --request-deadline 0s", 2, f"--request-deadline '0s': {BOUND}"),
    ("run .", 2, ".: is a directory; want a file of requests"),
    ("run one.txt two.txt", 2, 'run takes no further argument "two.txt"'),
    ("run one.txt two.txt -q --cold --alone", 2, 'run takes no further argument "two.txt"'),
    ("run one.txt --concurency 5", 2, 'run has no option --concurency; did you mean "--concurrency"?'),
    ("run one.txt -j 5", 2, 'run has no option -j; did you mean "--concurrency"?'),
    ("run one.txt --state /nodir/limits.json", 2, '--state "/nodir/limits.json": there is no folder /nodir'),
    ("run one.txt --trace /nodir/t", 74, "cannot open /nodir/t: No such file or directory"),
    ("run one.txt --failed /nodir/f", 2, '--failed "/nodir/f": there is no folder /nodir'),
    ("run one.txt --redirects-max 100", 2, "--redirects-max: Value 100 not in range 0 to 50"),
    ("run one.txt --raw --out x", 2, "--out excludes --raw"),
    ("run one.txt --raw --select /a", 2, "--raw excludes --select"),
    ("run semi.csv --url {url}/{{q}} --raw --id q", 2, "--raw excludes --id"),
    ("run one.txt --raw --meta", 2, "--raw excludes --meta"),
    ("run one.txt --rate 50/day", 0, "1 succeeded"),
    ("run empty.txt", 2, "empty.txt: there is no request in it: one URL or JSON object a line"),
    ("run blank.txt", 2, "blank.txt: there is no request in it: one URL or JSON object a line"),
    ("run bom.txt", 0, FINE),
    ("run crlf.txt", 0, FINE),
    ("run /dev/null", 2, "/dev/null: is not a regular file; want one, or - and the requests on standard input"),
    ("exec bomcsv.csv -- echo is {id} {q}", 0, "is 1 a"),
    ("exec bom.txt --dry-run -- echo is {}", 0, "is http://"),
    ("run dup.jsonl", 2, 'dup.jsonl:2: id "a" is already used at line 1'),
    ("run badjson.jsonl", 2, "badjson.jsonl:2: not valid JSON: "),
    ("run badkey.jsonl", 2, 'badkey.jsonl:1: unknown key "bdoy"; did you mean "body"?; known: url, id, method'),
    ("run badutf.jsonl", 2, "badutf.jsonl:1: not valid JSON: The input is not valid UTF-8"),
    ("run badutf.txt", 0, FINE),
    ("run noscheme.txt", 2, 'noscheme.txt:1: url "www.example.com/x": want http://… or https://…'),
    ("run ftp.txt", 2, 'ftp.txt:1: url "ftp://x/y": want http or https'),
    ("run quoted.txt", 2, "quoted.txt:1: url ", "want http or https"),
    ("run space.txt", 0, FINE),
    ("run uml.txt", 0, FINE),
    ("run long.txt", 2, "long.txt:1: url has 200028 bytes; want at most 65536"),
    ("run array.json", 2, "array.json:1: a JSON array; want one object a line: jq -c '.[]' array.json > array.json.jsonl"),
    ("run pretty.json", 2, "pretty.json:1: JSON over several lines; want one object a line: jq -c . pretty.json"),
    ("run bf.jsonl", 2, "bf.jsonl:1: body_file is", "want a path below the folder of the file of requests"),
    ("run bf2.jsonl", 2, 'bf2.jsonl:1: body_file is "nofile"; want a file that can be read'),
    ("run to.jsonl", 2, 'to.jsonl:1: timeout is "5"; want 0.001 to 86400 seconds, as a number or as "30s" or "500ms"'),
    ("run hd.jsonl", 2, 'hd.jsonl:1: header "A" is not a string'),
    ("run hd2.jsonl", 2, 'hd2.jsonl:1: headers is an array; want an object of at most 100 "Name": "value"'),
    ("run one.gz", 2, "one.gz:1: compressed with gzip; want text: zcat one.gz | headway run - --journal one.gz.headway"),
    ("run utf16.txt", 2, "utf16.txt:1: UTF-16; want text: iconv -f UTF-16 -t UTF-8 utf16.txt"),
    ("run badcsv.csv --url {url}/{{q}}", 2, "badcsv.csv:3: the record has 3 fields; want 2 as in the header"),
    ("run semi.csv --url {url}/{{q}}", 0, FINE),
    ("run t.tsv --url {url}/{{q}}", 0, FINE),
    ("run semi.csv --url {url}/{{qq}}", 2, 'semi.csv:1: there is no column "qq", which the template asks for; known: "id", "q"'),
    ("run dupcol.csv --url {url}/{{q}}", 2, 'dupcol.csv:1: column "q" is given twice'),
    ("run unterm.csv --url {url}/{{q}}", 2, "unterm.csv:2: the record that begins here ends within quotes"),
    ("run latin.csv --url {url}/{{q}}", 0, FINE),
    ("run bomcsv.csv --url {url}/{{id}}", 2, 'bomcsv.csv:3: id "1" is already used at line 2'),
    ("run one.txt --url {url}/{{q", 2, '--url: "{{q" is not a {{field}}'),
    ('run semi.csv --url {url}/ --body {"a":{{q}}', 2, "semi.csv:2: the template filled with this record is not valid JSON: "),
    ("run semi.csv --url {url}/ --body @nofile.json", 2, "--body @nofile.json: cannot read it"),
    ("run seq.txt --url {url}/{{line}}", 0, "5 succeeded, 0 failed"),
    ("run {url}/1", 0, '"outcome":"success"'),
    ("{url}/1", 0, '"outcome":"success"'),
    ("run one.txt --raw", 0, "{}\n", "1 succeeded"),
    ("-v", 0, "headway "),
    ("help", 0, "run         Sends each HTTP request"),
    ("help mock", 0, "headway mock", "--limit"),
    ("help mokc", 2, 'no command "mokc"; did you mean "mock"?'),
    ("mock --listen {address}", 2, "cannot listen on 127.0.0.1:", "Address already in use"),
    ("mock --listen 18999", 2, f"--listen '18999': {ADDRESS}"),
    ("mock --listen 127.0.0.1", 2, f"--listen '127.0.0.1': {ADDRESS}"),
    ("mock --limit 50/s", 2, "'50/s' is not rate=N/PER, concurrent=N, window=N/PER, sliding=N/PER, counter=N/PER, queue=N, shared=N, ban=N/TIME, table=N/PER, slope=SHARE/TIME, outage or unlimited"),
    ("mock --limit rate=50", 2, f"--limit 'rate=50': '50' {COUNT}"),
    ("mock --limit rate=50/s,brust=10", 2, "'brust' is not a setting of rate; it has burst"),
    ("mock --latency 20", 2, f"--latency '20': '20' {TIME}"),
    ("mock --latency 80ms..20ms", 2, "'80ms..20ms' is not ascending, such as 20ms..80ms"),
    ("mock --failures 1", 2, f"--failures '1': '1' {SHARE}"),
    ("mock --style anthropic", 2, "--style: anthropic not in {plain,openai,emr}"),
    ("mock --requests 500/min", 2, "--requests and --tokens are for --style openai"),
    ("mock --schedule 0:rate=5/s", 2, f"--schedule '0:rate=5/s': '0' {TIME}"),
    ("mock --retry-after secs", 2, "--retry-after 'secs': not none, seconds, date or ms"),
    ("mock --throttle-status 200", 2, "--throttle-status '200': not a status from 400 to 599"),
    ("mock --style openai --tokens 3M/min --listen {address}", 2, "cannot listen on"),
    ("mock --lmit rate=5/s", 2, 'mock has no option --lmit; did you mean "--limit"?'),
    ("simulate nothere", 2, "'nothere' is neither a file nor the name of a scenario; headway simulate --list names them"),
    ("simulate seed-03", 2, "neither a file nor the name of a scenario; did you mean \"seed-003\"?"),
    ("simulate seed-003 --law foo", 2, "--law 'foo': there is no such law; headway simulate --list names them"),
    ("simulate seed-003 --law sek", 2, 'did you mean "seek"?'),
    ("simulate seed-003 --sweep latency", 2, "--sweep 'latency' is not KEY=VALUE,VALUE,…, nor KEY=VALUE; with a value that has commas"),
    ("simulate seed-003 --sweep latncy=5ms,10ms", 2, "'latncy' is not a key here; known are about, limit, schedule"),
    ("simulate seed-003 --seed -1", 2, '--seed: "-1" is not a whole number from 0 to 18446744073709551615'),
    ("simulate seed-003 --seed 99999999999999999999", 2, "is not a whole number from 0 to 18446744073709551615"),
    ("simulate crowd.toml", 2, "crowd.toml:2: requests is 1000 for each of 100000 clients; want at most 2000000 in all, a tenth of --events-max"),
    ("simulate seed-003 --events-max 100", 2, "want at most 10 in all, a tenth of --events-max"),
    ("simulate seed-003 --seeds 0", 2, "--seeds: Value 0 not in range 1 to 10000"),
    ("simulate seed-003 --report /nodir/x.html", 74, "/nodir/x.html: No such file or directory"),
    ("replay nofile", 2, "cannot read nofile: No such file or directory"),
    ("replay one.txt", 2, "one.txt:1: not a line of a trace, a JSON object"),
    ("replay semi.csv", 2, "semi.csv:1: not a line of a trace, a JSON object"),
    ("exec", 2, "want -- before the command: headway exec -- COMMAND"),
    ("exec seq.txt", 2, 'want -- before the command: headway exec [JOBS] -- COMMAND ("seq.txt" is read as JOBS)'),
    ("exec seq.txt echo {}", 2, 'exec takes no further argument "echo"; want -- before the command'),
    ("exec nofile.txt -- echo {}", 2, "nofile.txt: cannot open it: No such file or directory"),
    ("exec -- nosuchprogram {} ::: a", 2, '"nosuchprogram": there is no such program in PATH'),
    ("exec seq.txt -- echo {name}", 2, 'seq.txt:1: there is no column "name", which the template asks for; known: "1"'),
    ("exec -- echo {} :::", 2, "::: has nothing after it; want values after :::, files after ::::"),
    ("exec seq.txt -- echo {} ::: a", 2, 'JOBS is given twice: "seq.txt" and :::'),
    ("exec seq.txt --halt soon,fails=1 -- echo {}", 2, "--halt 'soon,fails=1': want never, or soon or now with fail=1"),
    ("exec seq.txt --throttled awz -- echo {}", 2, 'there is no profile of commands "awz"; known are aws, claude', 'did you mean "aws"?'),
    ("exec seq.txt --throttle-exit 300 -- echo {}", 2, '--throttle-exit "300": want numbers from 1 to 255, as 75,69'),
    ("exec seq.txt --throttle-text ( -- echo {}", 2, "--throttle-text '(': no regular expression: "),
    ("exec seq.txt --timeout 5x -- echo {}", 2, f"--timeout '5x': '5x' {TIME}"),
    ("exec seq.txt --env 1X -- echo {}", 2, '--env "1X": want NAME=VALUE'),
    ("exec seq.txt -j x -- echo {}", 2, "--concurrency 'x': want a whole number from 1 to 60000", "or 0: what the machine carries"),
    ("exec seq.txt -j 1.5 -- echo {}", 2, "--concurrency '1.5': want a whole number from 1 to 60000"),
    ("exec seq.txt --fail-if >5 -- echo {}", 2, f"--fail-if '>5': \">5\" {THRESHOLD}"),
    ("proxy", 2, "want a server: --upstream https://…, or [[upstream]] in --config"),
    ("proxy --upstream api.example", 2, '--upstream "api.example": want http://… or https://…\n'),
    ("proxy --upstream ftp://x", 2, '--upstream "ftp://x": url "ftp://x": want http or https'),
    ("proxy --upstream {url}/?key=1", 2, "url has a query or a fragment; want none"),
    ("proxy --upstream {url} --upstream {url}/b", 2, 'two upstreams have the name "127.0.0.1"; want one of its own for each: NAME=URL'),
    ("proxy --upstream a/b={url}", 2, "name \"a/b\": want 1 to 100 letters, digits, '-', '_', '.'"),
    ("proxy --upstream {url} --listen 8080", 2, "--listen '8080': want ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080"),
    ("proxy --upstream {url} --queue 0", 2, "--queue '0': want a whole number from 1 to 1000000"),
    ("proxy --upstream {url} --body-max 5x", 2, "--body-max '5x': '5x' is not a size from 16MiB to 1024GiB, such as 64MiB"),
    ("proxy --upstream {url} --host-header theirs", 2, "--host-header 'theirs': want upstream or client"),
    ("proxy --upstream {url} --drain 5", 2, f"--drain '5': '5' {TIME}"),
    ("proxy --config proxy.toml", 2, 'proxy.toml:4: no key "rat"; did you mean "rate"?'),
    ("ctl 4711 pause", 2, 'no run "4711" lives'),
    ("limits forgt x", 2, "ACTION: forgt not in {forget,set,why}"),
    ("limits forget", 2, "want headway limits forget SCOPE"),
    ("limits forget nothere", 2, 'no scope matches "nothere"; none is known'),
    ("limits set https://api.example", 2, "want headway limits set URL rate=40/s"),
    ("limits set https://api.example rate=40", 2, f"rate '40': '40' {COUNT}"),
    ("limits set https://api.example rte=40/s", 2, '"rte=40/s": want rate=40/s, slots=8 or latency=200ms'),
    ("limits --state /nodir/x set https://api.example rate=4/s", 2, '--state "/nodir/x": there is no folder /nodir'),
    ("ctl 4711 scope", 2, 'no run "4711" lives'),
    ("limits --state one.txt", 2, "one.txt is not a file of learned limits; it is left as it is"),
    ("report", 2, "want the file of headway run --trace, or --results FILE"),
    ("report one.txt", 2, "one.txt:1: not a line of a trace, a JSON object"),
    ("report --results one.txt", 2, "one.txt:1: not a result of headway run"),
    ("simulate --from one.txt", 2, "one.txt:1: neither a trace nor results"),
    ("simulate --from array.json", 2, "array.json:1: "),
)


def files(url):
    array = f'[{{"url":"{url}/"}},{{"url":"{url}/"}}]\n'
    line = lambda **more: "{" + ",".join([f'"url":"{url}/"', *(f'"{k}":{v}' for k, v in more.items())]) + "}\n"
    return {
        "one.txt": f"{url}/\n",
        "two.txt": f"{url}/\n",
        "empty.txt": "",
        "blank.txt": "\n \n",
        "bom.txt": f"\ufeff{url}/\n",
        "crlf.txt": f"{url}/1\r\n{url}/2\r\n",
        "dup.jsonl": line(id='"a"') * 2,
        "badjson.jsonl": line() + '{"url":"x}\n',
        "badkey.jsonl": line(bdoy="1"),
        "badutf.jsonl": b'{"url":"' + url.encode() + b'/\xff"}\n',
        "badutf.txt": url.encode() + b"/\xff\n",
        "noscheme.txt": "www.example.com/x\n",
        "ftp.txt": "ftp://x/y\n",
        "quoted.txt": f'"{url}/"\n',
        "space.txt": f"{url}/a b?c d\n",
        "uml.txt": f"{url}/ü\n",
        "long.txt": "http://h/" + "x" * 200_019 + "\n",
        "array.json": array,
        "pretty.json": f'{{\n  "url": "{url}/"\n}}\n',
        "bf.jsonl": line(body_file='"../../etc/passwd"'),
        "bf2.jsonl": line(body_file='"nofile"'),
        "to.jsonl": line(timeout='"5"'),
        "hd.jsonl": line(headers='{"A":1}'),
        "hd2.jsonl": line(headers="[1]"),
        "one.gz": gzip.compress(f"{url}/\n".encode()),
        "mac.txt": f"{url}/1\r{url}/2\r",
        "utf16.txt": f"{url}/\n".encode("utf-16"),
        "badcsv.csv": "id,q\n1,a\n2,b,c\n",
        "crowd.toml": "limit = \"rate=50/s\"\nclients = { count = 100000, requests = 1000 }\n",
        "semi.csv": "id;q\n1;a\n2;\"b;c\"\n",
        "t.tsv": "id\tq\n1\ta,b\n2\tb\n",
        "dupcol.csv": "q,q\n1,2\n",
        "unterm.csv": 'id,q\n1,"a\n',
        "latin.csv": "id,q\n1,\xe9\n".encode("latin-1"),
        "bomcsv.csv": "\ufeffid,q\n1,a\n1,b\n",
        "proxy.toml": f'listen = "127.0.0.1:0"\n[[upstream]]\nurl = "{url}"\nrat = "5/s"\n',
        "seq.txt": "".join(f"{n}\n" for n in range(1, 6)),
    }


def words(arguments, url):
    """Split at spaces, but for those in quotes."""
    text = arguments.replace("{url}", url).replace("{address}", url[7:]).replace("' '", "\0")
    return [word.replace("\0", " ") for word in text.split()]


class Wrong(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(sockets.Scripted(lambda *_: (200, {"Content-Type": "application/json"}, b"{}")))

    def answer(self, arguments):
        """(exit code, what was said) where the files are as new."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files(self.server.url).items():
                Path(folder, name).write_bytes(content if isinstance(content, bytes) else content.encode())
            environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder, "NOPE": "x"}
            done = subprocess.run([BINARY, *words(arguments, self.server.url)], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
            return done.returncode, (done.stdout + done.stderr).decode()

    def test_each_is_answered(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = pool.map(lambda row: self.answer(row[0]), COMMANDS)
            for (arguments, code, *says), (got, text) in zip(COMMANDS, answers):
                with self.subTest(arguments):
                    self.assertEqual(got, code, text)
                    for words_of_it in says:
                        self.assertIn(words_of_it, text)
                    if code == 2:
                        self.assertRegex(text, r"\Aheadway: [^\n]+\n\Z", "one line")

    def test_what_is_sent_of_a_url_with_spaces_and_umlauts(self):
        self.answer("run space.txt")
        self.answer("run uml.txt")
        self.assertEqual([path for _, path, _ in self.server.log], ["/a%20b?c%20d", "/%C3%BC"])

    def test_what_is_read_of_other_tables_and_plain_lines(self):
        for arguments in ("semi.csv --url {url}/{{q}}", "t.tsv --url {url}/{{q}}", "seq.txt --url {url}/{{line}}"):
            self.answer(f"run {arguments} --concurrency 1")
        sent = [path[1:] for _, path, _ in self.server.log]
        self.assertEqual(sent, ["a", "b%3Bc", "a%2Cb", "b", "1", "2", "3", "4", "5"])

    def test_a_reader_that_has_enough_is_no_error(self):
        """Quietly: as other tools in a pipe."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "jobs.txt").write_text("".join(f"{self.server.url}/{n}\n" for n in range(2000)))
            for options in ("jobs.txt --raw", "- --raw", "-", "- --journal j", "jobs.txt --out -"):
                command = f"{BINARY} run {options} --progress none --rate 200/s --cold --alone"
                whole = f"({command} < jobs.txt; echo code $? >&2) | head -3"
                done = subprocess.run(["bash", "-c", whole], cwd=folder, capture_output=True, text=True, timeout=30)
                self.assertEqual(done.stdout.count("\n"), 3)
                self.assertEqual(done.stderr, "code 141\n", options)

    def test_results_that_standard_output_does_not_take_are_missed(self):
        """Before: exit 0 where all was done before, else 141, and nothing was said."""
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
            Path(folder, "jobs.txt").write_text("".join(f"{self.server.url}/{n}\n" for n in range(20)))
            read, unread = os.pipe()
            os.close(read)

            def run(out, *order):
                command = [BINARY, "run", "jobs.txt", "--out", "-", "--journal", f"j{len(order)}", *order, "--cold", "--alone"]
                done = subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, timeout=30)
                return done.returncode, done.stdout or done.stderr.rpartition("headway: ")[2]

            for order in ([], ["--keep-order"]):
                for _ in range(2):  # nothing was done before; something was
                    self.assertEqual(run(full, *order), (74, "cannot write standard output: No space left on device\n"))
                code, whole = run(subprocess.PIPE, *order)
                self.assertEqual((code, whole.count("\n")), (0, 20))
                self.assertEqual(run(full, *order), (74, "cannot write standard output: No space left on device\n"))
                self.assertEqual(run(unread, *order)[0], 141)
            os.close(unread)
            self.assertEqual(len(self.server.log), 40, "each was sent once")

    def test_what_cannot_be_printed_is_said(self):
        """Before: exit 0, and nothing was said."""
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
            Path(folder, "r.jsonl").write_text('{"id":"1","line":1,"url":"http://a.example/","outcome":"success","status":200,"attempts":1,"throttled":0}\n')
            environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder}
            for command in ("report --results r.jsonl", "limits", "ctl", "--help", "--version", "simulate --list",
                            "exec -- echo ::: 1", "exec --dry-run -- echo ::: 1", "exec -j1 -- echo ::: 1 2 3 4"):
                done = subprocess.run([BINARY, *command.split()], cwd=folder, env=environment, stdout=full, stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, timeout=30)
                self.assertEqual(done.returncode, 74, command)
                self.assertIn("headway: cannot write", done.stderr, command)
                self.assertIn("No space left on device\n", done.stderr, command)

    def test_the_ceiling_of_a_host_holds_for_it_alone(self):
        with sockets.Scripted(lambda *_: (200, {}, b"")) as other, tempfile.TemporaryDirectory() as folder:
            lines = [f"{s.url}/{n}\n" for n in range(100) for s in (self.server, other)]
            Path(folder, "jobs.txt").write_text("".join(lines))
            slow = f"{self.server.url[7:]}=10/s"
            subprocess.run([BINARY, "run", "jobs.txt", "--rate", slow, "--rate", "100/s", "--cold", "--alone", "--time-max", "2s"],
                           cwd=folder, capture_output=True, timeout=30)
            self.assertLessEqual(len(self.server.log), 21)
            self.assertGreater(len(self.server.log), 5)
            self.assertGreater(len(other.log), 2 * len(self.server.log))


if __name__ == "__main__":
    unittest.main()
