"""Tables in, tables out: records of several lines, and what is joined with what, by a server's log."""
import csv
import io
import json
import time
import unittest
import urllib.parse

import servers
import sockets
from work import Work, wait_for


def table(*rows):
    """A CSV as other programs write it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def asked(request):
    """What a request to /?q=… asks."""
    return urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)["q"][0]


def refusing(*questions):
    """A server's answers: 400 to these, else the question again."""

    def answer(request, before):
        if asked(request) in questions:
            return sockets.ok(b"no").replace(b"200 OK", b"400 No")
        return sockets.ok(json.dumps({"echo": asked(request), "n": len(asked(request))}).encode(), "application/json")

    return answer


# Every third one has line ends in it, and quotes.
QUESTIONS = [f'say "{i}",\nand\n\n{i}' if i % 3 == 0 else f"question {i}" for i in range(30)]


class Failed(unittest.TestCase):
    def test_of_a_csv_is_a_csv_that_runs(self):
        bad = QUESTIONS[0], QUESTIONS[1], QUESTIONS[9], QUESTIONS[29]
        text = "\ufeff" + table(["the\nkey", "question"], *enumerate(QUESTIONS))
        text = text.replace("\n9,", "\r\n9,").rstrip("\n")
        with sockets.Server(refusing(*bad)) as server, Work() as work:
            (work.path / "jobs.csv").write_bytes(text.encode())
            options = "--url", server.url + "/?q={{question}}", "--failed", "failed.csv"
            header = text.partition("0,")[0]
            self.assertEqual(work.run(*options, jobs="jobs.csv"), 1, work.stderr())
            failed = (work.path / "failed.csv").read_bytes().decode()
            self.assertTrue(failed.startswith(header), failed)
            rows = list(csv.reader(io.StringIO(failed.removeprefix("\ufeff"), newline="")))
            self.assertEqual([row[1] for row in rows], ["question", *bad])
            server.answer = refusing(bad[2])
            server.heard.clear()
            again = "--url", server.url + "/?q={{question}}", "--failed", "again.csv"
            self.assertEqual(work.run(*again, jobs="failed.csv"), 1, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), sorted(bad))
            rows = list(csv.reader(io.StringIO((work.path / "again.csv").read_text(encoding="utf-8-sig"))))
            self.assertEqual(rows, [["the\nkey", "question"], ["9", bad[2]]])


class Corrected(unittest.TestCase):
    """What failed may be put right in JOBS; what succeeded is never sent again, whatever happens to its line."""

    def test_lines_that_failed_are_done_as_they_are_now(self):
        bad = QUESTIONS[0], QUESTIONS[1], QUESTIONS[9]
        rows = list(enumerate(QUESTIONS))
        with sockets.Server(refusing(*bad)) as server, Work() as work:
            jobs = work.path / "jobs.csv"

            def run(*options, url="/?q={{question}}"):
                jobs.write_text(table(["key", "question"], *rows))
                return work.run("--url", server.url + url, *options, jobs="jobs.csv")

            self.assertEqual(run(), 1, work.stderr())
            server.heard.clear()
            rows[0] = (0, rows[0][1].replace("say", "tell"))  # of as many lines
            rows[9] = (9, rows[9][1].replace("and", "or"))
            self.assertEqual(run(), 2)
            self.assertIn("jobs.csv:2: this line was edited", work.stderr())
            self.assertIn("--again failed", work.stderr())
            self.assertEqual(run("--again", "failed", "--dry-run"), 0, work.stderr())
            self.assertEqual(run("--again", "failed"), 1, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), sorted([rows[0][1], bad[1], rows[9][1]]))
            server.heard.clear()
            self.assertEqual(run("--again", "failed", url="/other?q={{question}}"), 2)
            self.assertIn("--url, --body, --method or --format changed", work.stderr())
            kept = rows[9]
            for row in (kept, rows[2]):  # both have succeeded
                rows[row[0]] = (row[0], row[1] + "?")
                self.assertEqual(run("--again", "all"), 2)
                self.assertIn("this line was edited", work.stderr())
                rows[row[0]] = row
            self.assertEqual(server.heard, [])
            rows[1] = (1, "a better question")
            self.assertEqual(run("--again", "failed"), 0, work.stderr())
            self.assertEqual([asked(r) for r in server.heard], ["a better question"])
            self.assertEqual(run(), 0, work.stderr())

    def test_a_template_by_which_all_failed(self):
        """As the canary says."""
        with sockets.Server(lambda *_: sockets.ok().replace(b"200 OK", b"404 No")) as server, Work() as work:
            (work.path / "jobs.csv").write_text(table(["question"], *([q] for q in QUESTIONS)))
            self.assertEqual(work.run("--url", server.url + "/?p={{question}}", jobs="jobs.csv"), 77, work.stderr())
            server.answer = refusing()
            server.heard.clear()
            right = "--url", server.url + "/?q={{question}}"
            self.assertEqual(work.run(*right, jobs="jobs.csv"), 2)
            self.assertEqual(work.run(*right, "--again", "failed", jobs="jobs.csv"), 0, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), sorted(QUESTIONS))

    def test_a_run_that_is_killed_after_a_correction_knows_it(self):
        with sockets.Server(refusing("1", "2")) as server, Work() as work:
            lines = [f"{server.url}/?q={i}" for i in range(1, 6)]
            work.write(lines)
            self.assertEqual(work.run(), 1, work.stderr())
            work.write([lines[0], lines[1].replace("q=2", "q=two"), *lines[2:]])
            server.heard.clear()
            answer, server.answer = server.answer, lambda *_: time.sleep(5)
            with work.start("--again", "failed") as process:
                wait_for(lambda: server.heard)
                process.kill()
            server.answer = answer
            server.heard.clear()
            self.assertEqual(work.run(), 1, work.stderr())
            self.assertEqual(sorted(asked(r) for r in server.heard), ["1", "two"])
            last = {r["id"]: r["outcome"] for r in work.results()}
            self.assertEqual(last, {"1": "failed", **{str(i): "success" for i in range(2, 6)}})

    def test_standard_input_too(self):
        with sockets.Server(refusing("2")) as server, Work() as work:
            lines = [f"{server.url}/?q={i}\n" for i in range(1, 4)]

            def run(*options):
                (work.path / "in").write_text("".join(lines))
                with open(work.path / "in") as given:
                    return work.run("--journal", "journal", *options, jobs="-", stdin=given)

            self.assertEqual(run(), 1, work.stderr())
            lines[1] = f"{server.url}/?q=two\n"
            self.assertEqual(run("--again", "failed"), 0, work.stderr())
            self.assertEqual([asked(r) for r in server.heard][3:], ["two"])
            lines[1] = f"{server.url}/?q=three\n"
            self.assertEqual(run("--again", "failed"), 2)


class Joined(unittest.TestCase):
    """Each result is known by what the table says, not by where its record stands."""

    def test_results_are_joined_by_a_field(self):
        rows = [(f"k{i}", q, i * i) for i, q in enumerate(QUESTIONS)]
        with sockets.Server(refusing(QUESTIONS[4])) as server, Work() as work:
            (work.path / "jobs.csv").write_text(table(["key", "question", "square"], *rows))
            options = ["--url", server.url + "/?q={{question}}&secret=1"]
            options += ["--select", "answer=/echo", "--select", "length=/n", "--select", "none=/x"]
            self.assertEqual(work.run(*options, "--id", "key", "--meta", "square,question", jobs="jobs.csv"), 1)
            results = {r["id"]: r for r in work.results()}
            for key, question, square in rows:
                result = results.pop(key)
                self.assertEqual(result["meta"], {"square": str(square), "question": question})
                self.assertEqual(result["url"], server.url + "/")
                if question == QUESTIONS[4]:
                    self.assertEqual((result["outcome"], result["body"]), ("failed", "no"))
                else:
                    self.assertEqual(result["body"], {"answer": question, "length": len(question), "none": None})
            self.assertEqual(results, {})
            # What was kept cannot be changed afterwards, and that is said.
            self.assertEqual(work.run(*options, "--again", "failed", jobs="jobs.csv"), 1)
            self.assertNotIn("--select was", work.stderr())
            self.assertEqual(work.run(*options[:2], "--select", "/n", jobs="jobs.csv"), 1)
            self.assertIn('--select was "answer=/echo" "length=/n" "none=/x", and is "/n" now: 29', work.stderr())

    def test_ids_may_be_of_several_fields(self):
        with sockets.Server(refusing()) as server, Work() as work:
            (work.path / "jobs.csv").write_text(table(["a", "b"], *((i, j) for i in "xy" for j in "xy")))
            options = "--url", server.url + "/?q={{a}}{{b}}"
            self.assertEqual(work.run(*options, "--id", "{{a}}-{{b}}", jobs="jobs.csv"), 0, work.stderr())
            self.assertEqual(
                {r["id"]: r["body"]["echo"] for r in work.results()}, {f"{i}-{j}": i + j for i in "xy" for j in "xy"}
            )
            fresh = "--journal", "j", "--out", "o"
            self.assertEqual(work.run(*options, *fresh, "--id", "a", jobs="jobs.csv"), 2)
            self.assertIn('jobs.csv:3: id "x" is already used at line 2', work.stderr())
            self.assertEqual(work.run(*options, *fresh, "--id", "c", jobs="jobs.csv"), 2)
            self.assertIn('jobs.csv:2: there is no column "c", which --id asks for', work.stderr())

    def test_meta_of_every_kind_of_line(self):
        with sockets.Server(refusing()) as server, Work() as work:
            url = f"{server.url}/?q=1"
            body = json.dumps({"input": "a", "metadata": {"row": 1}, "n": 1.50}).replace("1.5", "1.50")
            whole = {"url": url, "id": "a", "meta": [1]}
            lines = {
                url: [(["--meta", "url"], {"url": url}), (["--meta"], {"url": url}), ([], None)],
                json.dumps({**whole, "headers": {"X-Key": "secret"}}): [
                    (["--meta"], whole), ([], [1]), (["--meta=meta,url"], {"meta": [1], "url": url})
                ],
                body: [(["--url", url, "--meta"], {"input": "a", "metadata": {"row": 1}, "n": 1.5}),
                       (["--url", url, "--meta", "n,line"], {"n": 1.5, "line": 1})],
                '{"q": "x", "deep": {"a": [1]}}': [
                    (["--url", server.url + "/?q={{q}}", "--meta"], {"q": "x", "deep": {"a": [1]}})
                ],
            }
            for line, cases in lines.items():
                for options, meta in cases:
                    with self.subTest(line, options=options), Work([line]) as one:
                        self.assertEqual(one.run(*options), 0, one.stderr())
                        (result,) = one.results()
                        self.assertEqual(result.get("meta"), meta)
                        self.assertEqual(result["url"], server.url + "/")
                        self.assertNotIn("secret", json.dumps(result))

    def test_selections_without_names(self):
        with Work(["http://127.0.0.1:1/"]) as work:
            self.assertEqual(work.run("--select", "/a", "--select", "/b"), 2)
            self.assertIn('--select "/a": several want a name each, as answer=/a', work.stderr())
            self.assertEqual(work.run("--select", "a=/a", "--select", "a=/b"), 2)
            self.assertIn('--select "a" is given twice', work.stderr())


class Tables(unittest.TestCase):
    """--out x.csv: the rows of the input, in its order, beside what came of them."""

    def rows(self, work, name="out.csv"):
        with open(work.path / name, newline="") as file:
            return list(csv.DictReader(file))

    def test_every_answer_stands_beside_its_own_question(self):
        rows = [(f"k{i}", q, "x") for i, q in enumerate(QUESTIONS)]
        bad = QUESTIONS[3], QUESTIONS[8]
        with sockets.Server(refusing(*bad)) as server, Work() as work:
            (work.path / "jobs.csv").write_text(table(["key", "question", "status"], *rows))
            options = ["--url", server.url + "/?q={{question}}", "--out", "out.csv"]
            options += ["--select", "answer=/echo", "--select", "length=/n"]
            self.assertEqual(work.run(*options, "--only", "10", jobs="jobs.csv"), 1, work.stderr())
            self.assertEqual([r["key"] for r in self.rows(work)], [f"k{i}" for i in range(10)])
            server.answer = refusing(bad[0])
            self.assertEqual(work.run(*options, "--again", "failed", jobs="jobs.csv"), 1, work.stderr())
            found = self.rows(work)
            self.assertEqual(len(found), len(rows))
            for (key, question, status), row in zip(rows, found):
                failed = question == bad[0]
                self.assertEqual(row, {
                    "key": key, "question": question, "status": status,
                    "answer": "" if failed else question, "length": "" if failed else str(len(question)),
                    "outcome": "failed" if failed else "success", "result_status": "400" if failed else "200",
                    "attempts": "1", "reason": "status 400" if failed else "",
                })  # fmt: skip
            self.assertEqual((work.path / "out.csv").stat().st_mode & 0o777, 0o600)
            # The results are where they always are: a run that wanted no table may get one later.
            self.assertEqual(work.run(*options[:2], "--out", "later.csv", jobs="jobs.csv"), 1, work.stderr())
            self.assertEqual([r["key"] for r in self.rows(work, "later.csv")], [r[0] for r in rows])

    def test_of_json_records_and_of_requests(self):
        with sockets.Server(refusing()) as server, Work() as work:
            records = [{"q": "a", "n": 1.50}, {"extra": {"x": None}, "q": "b,c"}, {"q": "d", "n": None}]
            work.write(map(json.dumps, records))
            self.assertEqual(work.run("--url", server.url + "/?q={{q}}", "--out", "out.csv", "--select", "/echo"), 0)
            self.assertEqual(
                [(r["q"], r["n"], r["extra"], r["body"]) for r in self.rows(work)],
                [("a", "1.5", "", "a"), ("b,c", "", '{"x":null}', "b,c"), ("d", "", "", "d")],
            )
        with sockets.Server(refusing()) as server, Work() as work:
            work.write(["# two", f"{server.url}/?q=1", json.dumps({"id": "b", "url": f"{server.url}/b?q=2", "meta": [7]})])
            self.assertEqual(work.run("--out", "out.csv"), 0, work.stderr())
            self.assertEqual(
                [(r["id"], r["url"], r["meta"], r["body"]) for r in self.rows(work)],
                [("2", server.url + "/", "", '{"echo":"1","n":1}'), ("b", server.url + "/b", "[7]", '{"echo":"2","n":1}')],
            )

    def test_of_plain_lines_and_of_semicolons(self):
        with sockets.Server(refusing()) as server, Work() as work:
            work.write(["a,b", "", "# c"])
            self.assertEqual(work.run("--url", server.url + "/?q={{line}}", "--out", "out.csv", "--id", "line"), 0)
            self.assertEqual([r["line"] for r in self.rows(work)], ["a,b", "# c"])
            self.assertEqual(sorted(asked(r) for r in server.heard), ["# c", "a,b"])
            self.assertEqual(set(work.outcomes()), {"a,b", "# c"})
        with sockets.Server(refusing()) as server, Work() as work:
            (work.path / "jobs.csv").write_text('n;q\n1;"b;c"\n2;d,e\n')
            options = "--url", server.url + "/?q={{q}}", "--out", "semi.csv", "--select", "/echo"
            self.assertEqual(work.run(*options, jobs="jobs.csv"), 0, work.stderr())
            self.assertEqual([(r["n"], r["q"], r["body"]) for r in self.rows(work, "semi.csv")], [("1", "b;c", "b;c"), ("2", "d,e", "d,e")])

    def test_goes_nowhere_else(self):
        with Work(["http://127.0.0.1:1/"]) as work:
            (work.path / "jobs.csv").write_text("a\n1\n")
            self.assertEqual(work.run("--url", "http://127.0.0.1:1/{{a}}", "--out", "jobs.csv", jobs="jobs.csv"), 2)
            self.assertIn('--out "jobs.csv" would overwrite JOBS', work.stderr())
            self.assertEqual(work.run("--out", "no/out.csv"), 2)
            self.assertEqual(work.run("--out", "out.csv", jobs="-"), 2)
            self.assertIn("standard input cannot be read a second time", work.stderr())

    def test_a_run_that_is_stopped_leaves_what_there_is(self):
        with sockets.Server(refusing()) as server, Work() as work:
            work.write([f"{server.url}/?q={i}" for i in range(400)])
            with work.start("--out", "out.csv", "--rate", "100/s") as process:
                wait_for(lambda: len(server.heard) > 20)
                process.terminate()
                self.assertEqual(process.wait(20), 143, work.stderr())
            self.assertEqual(sorted(r["id"] for r in self.rows(work)), sorted(work.outcomes()))
            self.assertLess(len(self.rows(work)), 400)


class Bodies(unittest.TestCase):
    """--out-dir: what another run has left there stays."""

    def bodies(self, work):
        return {file.name: file.read_text() for file in (work.path / "bodies").iterdir()}

    def stream(self, work, *options, **how):
        (work.path / "in").write_text("".join(how.pop("lines")))
        with open(work.path / "in") as given:
            return work.run("--out-dir", "bodies", *options, jobs="-", stdin=given, **how)

    def test_of_another_run_are_never_overwritten(self):
        echo = lambda request, before: sockets.ok(request.path.encode())
        with sockets.Server(echo) as server, Work([f"{server.url}/{i}" for i in range(1, 4)]) as work:
            self.assertEqual(self.stream(work, lines=[f"{server.url}/a{i}\n" for i in range(1, 3)]), 0, work.stderr())
            before = self.bodies(work)
            server.heard.clear()
            self.assertEqual(work.run("--out-dir", "bodies"), 2)
            self.assertIn('jobs.txt:1: its body would go to "bodies/00000001.txt", which is there', work.stderr())
            self.assertEqual(self.stream(work, lines=[f"{server.url}/b1\n"]), 2)
            self.assertEqual(server.heard, [])
            self.assertEqual(self.bodies(work), before)
            self.assertEqual(sorted(before), ["00000001.txt", "00000002.txt"])
            # Another name is another file.
            self.assertEqual(work.run("--out-dir", "bodies", "--out-name", "b{{line}}"), 0, work.stderr())
            self.assertEqual(self.bodies(work), {**before, "b1": "/1", "b2": "/2", "b3": "/3"})

    def test_of_earlier_runs_of_its_own_are_replaced(self):
        status = {"ok": False}

        def answer(request, before):
            text = sockets.ok(f"{request.path} {status['ok']}".encode())
            return text if status["ok"] or request.path != "/2" else text.replace(b"200 OK", b"400 No")

        with sockets.Server(answer) as server, Work([f"{server.url}/{i}" for i in range(1, 4)]) as work:
            self.assertEqual(work.run("--out-dir", "bodies"), 1, work.stderr())
            status["ok"] = True
            self.assertEqual(work.run("--out-dir", "./bodies/", "--again", "failed"), 0, work.stderr())
            self.assertEqual(self.bodies(work)["00000002.txt"], "/2 True")
            self.assertEqual(self.bodies(work)["00000001.txt"], "/1 False")

    def test_of_a_run_that_was_killed_are_its_own(self):
        """A stream, too, whose lines the journal learns as they come."""
        with servers.nginx(latency_ms=(1, 5)) as server, Work() as work:
            (work.path / "in").write_text("".join(f"{server.url}/{i}\n" for i in range(600)))
            options = "--out-dir", "bodies", "--journal", "journal", "--law", "fixed"
            for kill in range(7):
                with open(work.path / "in") as given, work.start(*options, jobs="-", stdin=given) as process:
                    size = len(server.log())
                    wait_for(lambda: len(server.log()) > size + 30 or process.poll() is not None)
                    process.kill() if kill < 6 else self.assertEqual(process.wait(20), 0, work.stderr())
            self.assertEqual(len(list((work.path / "bodies").glob("*.txt"))), 600)

    def test_are_named_by_the_record(self):
        with sockets.Server(refusing()) as server, Work() as work:
            (work.path / "jobs.csv").write_text(table(["id", "q"], ["a/b", "1"], ["..", "2"], ["ü 100%", "3"]))
            options = ["--url", server.url + "/?q={{q}}", "--out-dir", "bodies", "--out-name"]
            self.assertEqual(work.run(*options, "{{id}}.json", jobs="jobs.csv"), 0, work.stderr())
            self.assertEqual(
                {name: json.loads(text)["echo"] for name, text in self.bodies(work).items()},
                {"a%2Fb.json": "1", "...json": "2", "ü 100%25.json": "3"},
            )
            self.assertEqual({r["body_file"] for r in work.results()}, {f"bodies/{name}" for name in self.bodies(work)})
            options = [*options[:2], "--journal", "j", "--out", "o", "--out-dir"]
            for name, why in {
                "{{id}}": 'jobs.csv:3: --out-name makes ".." of it', "x": 'jobs.csv:3: --out-name makes "x" of it, as of line 2',
                "a/{{id}}": "want no / in it", "{{none}}": 'there is no column "none", which --out-name asks for',
            }.items():  # fmt: skip
                with self.subTest(name):
                    self.assertEqual(work.run(*options, "others", "--out-name", name, jobs="jobs.csv"), 2)
                    self.assertIn(why, work.stderr())
            self.assertEqual(work.run(*options, ".", "--out-name", "{{id}}.json", jobs="jobs.csv"), 2)
            self.assertIn('JOBS "jobs.csv" may have the name of a file that --out-dir writes', work.stderr())


if __name__ == "__main__":
    unittest.main()
