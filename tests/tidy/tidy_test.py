#!/usr/bin/env python3
"""Each rule of tidy.py, broken once: it must be found, and nothing else."""
import unittest

import tidy
from rules import Rules

CITED = "// Source: RFC 5681, section 3.1\n"
BROKEN = [  # path, text, word of the complaint
    ("include/headway/governor.hpp", "#include <boost/asio.hpp>", "standard library"),
    ("include/headway/governor.hpp", '#include "headway/sim/server.hpp"', "core includes sim"),
    ("include/headway/governor.hpp", "#include <mutex>", "no threads"),
    ("src/sim/server.cpp", '#include "headway/http/classify.hpp"', "sim includes http"),
    ("src/http/hint.cpp", '#include "headway/driver/asio.hpp"', "http includes driver"),
    ("src/governor.cpp", "auto const now = std::chrono::steady_clock::now();", "reads a clock"),
    ("src/governor_test.cpp", "std::this_thread::sleep_for(1ms);", "reads a clock"),
    ("include/headway/random.hpp", "std::uniform_int_distribution<int> die;", "chance"),
    ("src/postgres/board.cpp", "std::random_device entropy;", "chance"),
    ("include/headway/sim/server.hpp", "return std::pow(2.0, attempt);", "compilers"),
    ("include/headway/window/reno.hpp", "struct reno {};", "cites its source"),
    ("src/governor.cpp", "int one;\n" * 4701, "4701 lines of code; at most 4700"),
    ("include/headway/http/advice.hpp", "advice advice_of(\n    int, int) noexcept;\n", "HEADWAY_EXPORT"),
    ("examples/core.cpp", "int one;\n" * 61, "at most 60 lines"),
    ("apps/headway/base/url.cpp", '#include "os/file.hpp"', "base includes os"),
    ("apps/headway/client/transport_test.cpp", '#include "run/options.hpp"', "client includes run"),
    ("apps/headway/run/run.cpp", '#include "mock/service.hpp"', "run includes mock"),
    ("apps/headway/attic/box.cpp", "int one;", "does not know"),
    ("ARCHITECTURE.md", "| `base` | words | os |\n", "rooms that are not as in tests/tidy: base, client"),
    ("apps/headway/main.cpp", "// TO" "DO: the rest", "leftover work"),
    ("apps/headway/base/url.cpp", "  typedef unsigned port;", "write using"),
    ("README.md", "It wakes the thread whose turn it is.", "whose"),
    ("src/keyed_test.cpp", "TEST(keyed, evicts_who_is_idle) {}", "who"),
    ("scenarios/costs.toml", 'about = "and nobody says so"', "nobody"),
    ("src/postgres/limit.sql", "-- Only who publishes writes it.", "who"),
    ("docs/guide.md", "Who waits is `woken`:\n\n```sh\nwho\n```\n", "Who"),
    ("include/headway/time.hpp", "int n;  ///< those who wait", "who"),
    ("include/headway/time.hpp", "/// What is left.\nstruct rest {};", "begins with «What»"),
    ("include/headway/time.hpp", "/// Of one limit.\nint limit;", "begins with «Of»"),
    ("include/headway/time.hpp", "/// The least.\nT const& top() const;", "is a verb"),
    ("include/headway/time.hpp", "  /// The least.\n  ///\n  /// O(1).\n  template <class T>\n  T top(\n      int);", "is a verb"),
    ("include/headway/time.hpp", "  /// A default.\n  explicit timeline(int a = 1);", "is a verb"),
    ("src/governor_test.cpp", "TEST(governor, HasAName) {}", "governor.HasAName: a test's name is snake_case"),
    ("apps/headway/run/job_test.cpp", "TEST_F(Job, has_a_name) {}", "snake_case"),
]
SOUND = [
    ("include/headway/law/any.hpp", "using any_law = std::variant<reno, tahoe>;"),
    ("include/headway/window/reno.hpp", CITED + "#include <vector>\n#include \"headway/time.hpp\""),
    ("include/headway/governor.hpp", "HEADWAY_EXPORT int name(int);\ntemplate <class T>\nT twice(T);\nconstexpr int f(int);"),
    ("include/headway/headway.hpp", '#include "headway/governor.hpp"'),
    ("include/headway/driver/asio.hpp", "#include <boost/asio.hpp>\nusing clock = std::chrono::steady_clock;"),
    ("src/postgres/board.cpp", "auto const now = std::chrono::system_clock::now();"),
    ("src/keyed.cpp", "int typedefs;  // typedef"),
    ("src/keyed.cpp", "int whole;  // of a scope whose pace is due"),
    ("README.md", "Run `who`, see [that](docs/007-waking-a-thread.md): \"who?\"\n\n```sh\nwho\n```\n"),
    ("include/headway/time.hpp", "/// Returns the least.\nT const& top() const;\n/// The most.\nint most = f(3);"),
    ("include/headway/time.hpp", "/// A role.\ntemplate <class L>\nconcept law = requires(L l) { l.f(); };"),
    ("include/headway/time.hpp", "  /// A hook.\n  std::function<void(int)> hook;\n/// A limit.\nusing f = int(int);"),
    ("src/governor_test.cpp", "TYPED_TEST(governor, has_10_names) {}"),
    ("src/governor.cpp", "// no steady_clock here: the driver tells the time"),
    ("src/governor.cpp", "int one;  // and why\n\n  // a comment\n" * 4700),
    ("src/sim/server.cpp", "int one;\n" * 2701),
    ("examples/core.cpp", "int one;\n" * 60),
    ("apps/headway/run/run.cpp", '#include "pacing/laws.hpp"\n#include "headway/headway.hpp"\n#include "run/options.hpp"'),
    ("src/governor_test.cpp", "int one;\n" * 2701),
    ("src/governor_test.cpp", '#include <gtest/gtest.h>\n#include "headway/sim/server.hpp"'),
]


class Tidy(Rules, unittest.TestCase):
    breaches = staticmethod(tidy.breaches)
    BROKEN = BROKEN
    SOUND = SOUND


if __name__ == "__main__":
    unittest.main()
