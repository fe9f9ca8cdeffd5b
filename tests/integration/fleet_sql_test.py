"""The database's part of one limit over hosts, by its functions alone; and that each of its guards is needed."""
import unittest
from pathlib import Path

import postgres
from work import measured

SQL = Path(__file__).resolve().parents[2] / "src/postgres"
KEY = r"'\x01'"
NOW = 10**15  # µs


class Board:
    """A schema of its own, and its functions in few words."""

    def __init__(self, server, edit=lambda text: text):
        self.server = server
        server.psql("drop schema if exists headway1 cascade")
        parts = "".join((SQL / f"{name}.sql").read_text() for name in ("schema", "limit", "rights"))
        server.psql(f"begin; {edit(parts.replace('@revision@', '1'))} commit; grant headway_worker to {server.name}")

    def ask(self, sql):
        return self.server.psql(sql, role="headway")

    def join(self, was=0, token="00000000000000000000000000000001"):
        return int(self.ask(f"select id from headway1.join({was}, '{token}', 'a', '1')"))

    def exchange(self, me, number, report=None, epoch=-1, hold=0, urgent=0, leaves=0, has=0, keeps=0):
        """now, told, v, own, combine, made_of, state, unheard."""
        report = report or f"{me:02x}{number:04x}"
        line = self.ask(
            f"select told, coalesce(v, 0), coalesce(own, ''), combine, made_of, coalesce(state, ''), coalesce(unheard::text, '') "
            rf"from headway1.exchange({me}, array[{KEY}]::bytea[], array[{number}], array['\x{report}']::bytea[], array[{epoch}], "
            f"array[{hold}], array[{urgent}], array[{leaves}], array[{has}], array[{keeps}])"
        )
        told, v, own, combine, made_of, state, unheard = line.split("|")
        return int(told), int(v), own, combine == "t", int(made_of), state, unheard

    def publish(self, me, made_of, version, state="aa", heard=None, wake=(), lease_us=400_000):
        heard = heard or {}
        ids, numbers = ",".join(map(str, heard)), ",".join(map(str, heard.values()))
        own = ",".join(rf"'\x{state}{id:02x}'" for id in heard)
        return self.ask(
            rf"select headway1.publish({KEY}, 't', {me}, {made_of}, {version}, {lease_us}, '\x{state}', 0, 0, '\xcc', "
            rf"array[{ids}]::bigint[], array[{numbers}]::bigint[], array[{own}]::bytea[], array{list(wake)}::bigint[])"
        ) == "t"


def one_state_at_a_time(board):
    """Two combiners that made theirs of the same version: one is valid, the other changes nothing."""
    assert board.publish(1, 0, 100) and not board.publish(2, 0, 101, "bb")
    board.exchange(1, 1), board.exchange(2, 1)
    assert board.publish(1, 100, 200, "ab", {1: 1, 2: 1})
    assert not board.publish(2, 100, 300, "bb", {1: 1, 2: 1})
    assert board.exchange(1, 2)[1:3] == (200, r"\xab01")


def each_report_once(board):
    """A report is there until a valid state has heard it, however often it is told."""
    assert board.publish(1, 0, 100)
    assert board.exchange(1, 1)[0] == 1 and board.exchange(1, 1)[0] == 1
    assert board.exchange(1, 2)[6] == r"\x" + "00000003010001" + "00000003010002"
    assert board.publish(1, 100, 200, "ab", {1: 1})
    assert board.exchange(1, 2)[6] == r"\x" + "00000003010002"
    assert board.publish(1, 200, 300, "ac", {1: 2})
    assert board.exchange(1, 2)[6] == ""
    assert board.server.psql("select cardinality(reports) from headway1.member") == "2"
    board.exchange(1, 3)
    assert board.server.psql("select cardinality(reports) from headway1.member") == "1"  # what was heard is gone


def a_lease_is_one_members(board):
    """As long as it runs, no other is to combine; then one of those that ask."""
    assert board.exchange(1, 1)[3] and board.publish(1, 0, 100)
    assert board.exchange(1, 2)[3] and not board.exchange(2, 1)[3]
    board.ask("select pg_sleep(0.45)")
    assert board.exchange(2, 2)[3] and not board.exchange(3, 1)[3] and not board.exchange(1, 3)[3]
    assert board.publish(2, 100, 200) and board.exchange(2, 3, leaves=1)[3] is False
    assert board.exchange(3, 2)[3]


def a_lease_of_a_clock_that_went_back_is_none(board):
    """The engine was an hour ahead when it was given: another is to combine at once."""
    assert board.exchange(1, 1)[3] and board.publish(1, 0, 100, lease_us=3_600_000_000)
    assert board.exchange(2, 1)[3]


GUARDS = {  # what is taken out, what takes its place, and what does not hold then
    "where v": ([(" and s.v = made_of;", ";")], one_state_at_a_time),
    "no state before": ([("on conflict do nothing;\n  else", "on conflict (key) do update set v = next;\n  else")], one_state_at_a_time),
    "numbered reports": ([("elsif numbers[i] > mine.told then", "elsif true then")], each_report_once),
    "heard reports": ([("where m.key = keys[i] and r.number > coalesce(g.heard, 0)", "where m.key = keys[i]")], each_report_once),
    "the lease": ([("elsif valid.lease not between now and now + 10000000 then", "elsif true then"),
                   ("\n        and s.lease not between now and now + 10000000;", ";")], a_lease_is_one_members),
    "a lease's end": ([("elsif valid.lease not between now and now + 10000000 then", "elsif valid.lease <= now then")],
                      a_lease_of_a_clock_that_went_back_is_none),
}


class LimitSql(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(postgres.postgres())

    def test_it_holds(self):
        for holds in (one_state_at_a_time, each_report_once, a_lease_is_one_members, a_lease_of_a_clock_that_went_back_is_none):
            with self.subTest(holds.__name__):
                holds(Board(self.server))

    def test_without_a_guard_it_does_not(self):
        for name, (edits, holds) in GUARDS.items():

            def edited(text):
                for guard, instead in edits:
                    assert text.count(guard) == 1, f"{guard}: {text.count(guard)} times"
                    text = text.replace(guard, instead)
                return text

            with self.subTest(name):
                board = Board(self.server, edited)
                with self.assertRaises(AssertionError):
                    holds(board)

    def test_a_host_keeps_its_number_unless_another_has_it(self):
        board = Board(self.server)
        first = board.join()
        self.assertEqual(board.join(first), first)
        self.assertNotEqual(board.join(first, "00000000000000000000000000000002"), first)
        self.server.psql("truncate headway1.host")  # a crash
        self.assertEqual(board.join(first), first)

    def test_members_touch_no_table(self):
        board = Board(self.server)
        for table in ("scope", "member", "granted", "host", "learned", "salt"):
            with self.subTest(table), self.assertRaisesRegex(AssertionError, "permission denied"):
                self.server.psql(f"select * from headway1.{table}", role="headway")

    def test_what_is_not_heard_is_bounded(self):
        board = Board(self.server)
        board.ask(
            r"do $$ begin for n in 1 .. 259 loop perform headway1.exchange(1, array['\x01']::bytea[], array[n], array['\xaa']::bytea[], "
            "array[-1], array[0], array[0], array[0], array[0], array[0]); end loop; end $$"
        )
        self.assertEqual(self.server.psql("select cardinality(reports) from headway1.member"), "200")
        board.exchange(1, 260, "00" * 1_000_000), board.exchange(1, 261, "00" * 1_100_000), board.exchange(1, 262)
        size = int(self.server.psql("select sum(length(r)) from headway1.member, unnest(reports) r"))
        measured(f"unheard reports of a member: {size} bytes at most")
        self.assertLess(size, 2_200_000)

    def test_what_is_heard_at_once_is_bounded(self):
        board = Board(self.server)
        board.server.psql(
            rf"insert into headway1.member select {KEY}, id, headway1.micros(), 1, '{{1}}', array[repeat('x', 2000000)::bytea] "
            "from generate_series(2, 12) id"
        )
        size = int(board.ask(
            rf"select length(unheard) from headway1.exchange(1, array[{KEY}]::bytea[], array[1], array['\xaa']::bytea[], "
            "array[-1], array[0], array[0], array[0], array[0], array[0])"
        ))  # fmt: skip
        measured(f"unheard reports of 12 members: {size} bytes at once")
        self.assertGreater(size, 14_000_000)
        self.assertLess(size, 16_100_000)

    def test_a_state_without_members_is_kept_for_a_day(self):
        board = Board(self.server)
        board.publish(1, 0, 100)
        board.exchange(1, 1)
        learn = "select headway1.learn('\\x02', 't', 1, 0, 1)"
        for changed, left in (
            ("select 1", "1"),
            ("update headway1.scope set lease = lease - 90000000000", "1"),
            ("delete from headway1.member", "0"),
        ):
            with self.subTest(changed):
                self.server.psql(changed), board.ask(learn)
                self.assertEqual(self.server.psql("select count(*) from headway1.scope"), left)

    def test_the_combiner_hears_of_what_is_urgent_and_no_one_is_held(self):
        board = Board(self.server)
        listen = "do $$ begin execute 'listen ' || headway1.channel('\\x01'); end $$"
        for urgent, said in ((0, ""), (1, "cut 1 0 -1 0")):
            with self.subTest(urgent):
                tick = rf"select 1 from headway1.exchange(1, array[{KEY}]::bytea[], array[{urgent + 1}], array['\xaa']::bytea[], array[-1], array[0], array[{urgent}], array[0], array[0], array[0])"
                self.assertRegex(board.ask(f"{listen}; {tick}"), f'with payload "{said}"' if said else r"^\D*1$")

    def test_what_unheard_members_may_take_halves_each_minute_and_ends(self):
        Board(self.server)
        here = [0.1] * 4
        for silent, unheard, excess in (
            (here, 0, 0),
            (here + [5] * 4, 4, 4 / 8),  # cut off together: each had an eighth
            (here + [5, 7, 8, 8.4], 4, 4 / 8),
            (here + [65] * 4, 4, 2 / 8),
            (here + [125] * 4, 4, 1 / 8),
            (here + [601] * 9, 0, 0),
            (here + [550] * 9, 9, 9 / 13 / 2**9),
            (here + [5] + [550] * 9, 10, 1 / 5 + 9 / 14 / 2**9),  # the last one had a fifth
            ([5] * 3, 3, 1),
        ):
            with self.subTest(silent):
                members = ", ".join(
                    rf"({KEY}, {i}, {NOW - int(seconds * 1e6)}, 1, '{{}}', '{{}}')" for i, seconds in enumerate(silent))
                has_left = rf"({KEY}, 1000, 0, 1, '{{}}', '{{}}')"
                found = self.server.psql(
                    f"delete from headway1.member; insert into headway1.member values {members}, {has_left}; "
                    f"select hosts, round(excess::numeric, 9) from headway1.unheard({KEY}, {NOW})").splitlines()[-1]
                self.assertEqual(found, f"{unheard}|{excess:.9f}")

    def test_people_are_shown_a_state_once(self):
        board = Board(self.server)
        board.publish(1, 0, 100)
        for member in 1, 2, 3:
            board.exchange(member, 1)
        self.assertEqual(board.ask("select count(*), count(state) from headway1.limits()"), "3|1")


if __name__ == "__main__":
    unittest.main()
