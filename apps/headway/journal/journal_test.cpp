#include "journal/journal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include "base/fatal.hpp"
#include "base/test_error.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

using enum line_state;
using lines = std::vector<std::string>;

lines numbered(int n) {
  lines all;
  for (int i = 1; i <= n; ++i) all.push_back(fmt::format("http://127.0.0.1/{}", i));
  return all;
}

class journal_test : public folder_test {
 protected:
  void write(char const* name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }

  /// A whole run: takes `input` in, appends `bytes` to the results, commits `group`.
  void run(lines const& input, std::string_view bytes = "", std::vector<change> const& group = {},
           char const* out = "results") const {
    journal log(path("journal"), "JOBS", durability::process);
    for (auto const& line : input) log.check(line);
    log.end_of_input();
    auto results = file::results(path(out));
    log.start(results);
    results.append(bytes);
    log.commit(group, results.size());
  }
};

void expect_refused(fatal const& error, int code, std::string_view says) {
  EXPECT_EQ(error.code, code);
  EXPECT_NE(std::string_view(error.what()).find(says), std::string_view::npos) << error.what();
  EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
}

TEST_F(journal_test, remembers_where_each_line_stands) {
  run(numbered(9000), "1\n2\n3\n",
      {{8999, success},
       {2, failed},
       {3, unknown},
       {4, intended},
       {5, intended},
       {5, open},
       {6, intended},
       {6, success}});
  journal const log(path("journal"), "JOBS", durability::power);
  EXPECT_EQ(log.lines(), 9000);
  std::vector<std::int64_t> done;
  for (std::int64_t line = 0; line <= 9001; ++line)
    if (log.done(line)) done.push_back(line);
  EXPECT_EQ(done, (std::vector<std::int64_t>{2, 3, 6, 8999}));
  EXPECT_EQ(log.intents(), std::vector<std::int64_t>{4});
  EXPECT_EQ(log.count(final_outcome::success), 2);
  EXPECT_EQ(log.count(final_outcome::failed), 1);
  EXPECT_EQ(log.count(final_outcome::unknown), 1);
}

TEST_F(journal_test, a_final_state_is_final) {
  EXPECT_THROW(run(numbered(3), "1\n1\n", {{1, success}, {1, failed}}), std::logic_error);
  run(numbered(3), "1\n", {{1, success}});
  EXPECT_EQ(content("results"), "1\n");
  run(numbered(3), "", {{1, open}});
  EXPECT_TRUE(journal(path("journal"), "JOBS", durability::process).done(1));
}

TEST_F(journal_test, input_may_grow_but_not_change) {
  auto edited = numbered(10'000);
  edited[6122] += "?";
  auto inserted = numbered(10'000);
  inserted.insert(inserted.begin() + 16, "# a comment");
  struct {
    lines input;
    std::string refused;
  } const rows[] = {
      {numbered(10'000), ""},
      {numbered(10'007), ""},
      {numbered(10'007), ""},
      {edited, "JOBS:6123: this line was edited since " + path("journal") + " was written"},
      {inserted, "JOBS:17: this line was edited"},
      {numbered(10'006),
       "JOBS: ends after line 10006, but " + path("journal") + " knows 10007 lines of it"},
      {{}, "JOBS: ends after line 0"},
      {numbered(20'000), ""},
  };
  for (auto const& row : rows) {
    auto const error = error_of([&] { run(row.input); });
    if (row.refused.empty())
      EXPECT_EQ(error.code, 0) << error.what();
    else
      expect_refused(error, exit_usage, row.refused);
  }
}

TEST_F(journal_test, shape_may_not_change) {
  auto const check = [&](std::string const& shape) {
    journal log(path("journal"), "JOBS", durability::process, shape);
    log.check("a");
    log.check("b");
    auto results = file::results(path("results"));
    log.start(results);
  };
  check("--url x");
  check("--url x");
  for (auto const* other : {"", "--url y"})
    expect_refused(error_of([&] { check(other); }), exit_usage,
                   "JOBS: --url, --body, --method or --format changed since " + path("journal") +
                       " was written");
}

using outcomes = std::vector<final_outcome>;

/// A file of input in which some lines are no longer what they were.
struct corrections : journal_test {
  lines input = numbered(9000);

  /// A run that reopens `again` of the first `last` lines: the lines that are then to be done.
  std::vector<std::int64_t> open(outcomes const& again, std::int64_t last = 9000,
                                 std::string const& shape = "",
                                 std::map<std::int64_t, std::int64_t> const& begins = {}) {
    journal log(path("journal"), "JOBS", durability::process, shape, again);
    for (std::size_t i = 0; i < input.size(); ++i) {
      auto const line = static_cast<std::int64_t>(i) + 1;
      log.check(input[i], begins.contains(line) ? begins.at(line) : line);
    }
    log.end_of_input();
    for (auto const how : again) log.reopen(how, last);
    auto results = file::results(path("results"));
    log.start(results);
    std::vector<std::int64_t> reopened;
    for (std::int64_t line = 1; line <= 9; ++line)
      if (!log.done(line)) reopened.push_back(line);
    return reopened;
  }
  void edit(std::int64_t line) { input[static_cast<std::size_t>(line) - 1] += "?"; }
  std::string refusal(outcomes const& again,
                      std::map<std::int64_t, std::int64_t> const& begins = {}) {
    auto const error = error_of([&] { open(again, 9000, "", begins); });
    return error.code == exit_usage ? error.what() : "";
  }
};

TEST_F(corrections, of_what_failed_are_done_again) {
  std::vector<change> group;
  for (std::int64_t line = 1; line <= 9000; ++line)
    group.push_back({line, line == 3 || line == 7 || line == 8999 ? failed
                           : line == 5                            ? unknown
                                                                  : success});
  run(input, "", group);
  edit(3);
  edit(8999);
  EXPECT_NE(refusal({}).find("JOBS:3: this line was edited"), std::string::npos);
  EXPECT_NE(refusal({final_outcome::unknown}).find("JOBS:3: this line"), std::string::npos);
  EXPECT_EQ(open({final_outcome::failed}), (std::vector<std::int64_t>{3, 7}));
  EXPECT_EQ(open({}), (std::vector<std::int64_t>{3, 7}));  // as they are now
  edit(4);
  EXPECT_NE(refusal({final_outcome::failed, final_outcome::unknown}).find("JOBS:4: this line"),
            std::string::npos);
  EXPECT_TRUE(journal(path("journal"), "JOBS", durability::process).done(4));
}

TEST_F(corrections, beyond_the_first_are_open_too) {
  run(input, "", {{1, success}, {2, failed}, {3, failed}, {4, failed}});
  edit(4);
  EXPECT_EQ(open({final_outcome::failed}, 2), (std::vector<std::int64_t>{2, 4, 5, 6, 7, 8, 9}));
}

TEST_F(corrections, of_a_record_are_within_its_lines) {
  run(input, "", {{1, success}, {3, failed}, {5, success}, {6, failed}, {7, success}});
  edit(4);
  EXPECT_NE(refusal({final_outcome::failed}).find("JOBS:4: this line"), std::string::npos);
  EXPECT_EQ(open({final_outcome::failed}, 9000, "", {{4, 3}}),
            (std::vector<std::int64_t>{2, 3, 4, 6, 8, 9}));
  for (std::int64_t const line : {5, 6}) {  // it would swallow another record
    auto const whole = input;
    edit(line);
    EXPECT_NE(refusal({final_outcome::failed}, {{line, 3}}), "") << line;
    input = whole;
  }
}

TEST_F(corrections, of_the_shape_are_for_a_run_of_which_nothing_is_left) {
  auto const check = [&](std::string const& shape, outcomes const& again) {
    return error_of([&] { open(again, 2, shape); }).code;
  };
  run(input, "", {{1, failed}, {3, failed}});
  EXPECT_EQ(check("--url y", {}), exit_usage);
  EXPECT_EQ(check("--url y", {final_outcome::unknown}), exit_usage);
  EXPECT_EQ(check("--url y", {final_outcome::failed}), 0);
  EXPECT_FALSE(journal(path("journal"), "JOBS", durability::process, "--url y").done(3));
  EXPECT_EQ(check("", {final_outcome::failed}), 0);
  run(input, "", {{1, success}});
  EXPECT_EQ(check("--url y", {final_outcome::failed}), exit_usage);
}

TEST_F(journal_test, keeps_notes) {
  {
    journal log(path("journal"), "JOBS", durability::process);
    EXPECT_EQ(log.noted("a"), "");
    log.put({"a", "1"});
    auto results = file::results(path("results"));
    log.start(results);
    log.commit({}, 0, std::vector<note>{{"a", "2"}, {"b", "\"3\n"}});
  }
  journal const log(path("journal"), "JOBS", durability::process);
  EXPECT_EQ(log.noted("a"), "2");
  EXPECT_EQ(log.noted("b"), "\"3\n");
}

TEST_F(journal_test, takes_a_stream_in_while_it_runs) {
  auto const input = numbered(10);
  for (int round = 1; round <= 2; ++round) {
    journal log(path("journal"), "-", durability::process);
    auto results = file::results(path("results"));
    log.start(results);
    for (std::int64_t line = 1; line <= 5 * round; ++line) {
      log.check(input[static_cast<std::size_t>(line) - 1]);
      if (!log.done(line)) log.commit(std::vector<change>{{line, success}}, 0);
    }
    log.end_of_input();
  }
  journal log(path("journal"), "-", durability::process);
  EXPECT_EQ(log.lines(), 10);
  EXPECT_EQ(log.count(final_outcome::success), 10);
  EXPECT_EQ(error_of([&] { log.check("another"); }).code, exit_usage);
}

TEST_F(journal_test, leaves_no_trace_before_it_is_started) {
  { journal(path("journal"), "JOBS", durability::power).check("x"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  run(numbered(3));
  {
    journal log(path("journal"), "JOBS", durability::power);
    for (auto const& line : numbered(5)) log.check(line);
  }
  EXPECT_EQ(journal(path("journal"), "JOBS", durability::power).lines(), 3);
}

TEST_F(journal_test, is_its_owners_only) {
  journal log(path("journal"), "JOBS", durability::power);
  auto results = file::results(path("results"));
  log.start(results);
  int files = 0;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 5);  // journal, -wal, -shm, -mark, results
}

TEST_F(journal_test, results_must_be_the_ones_on_record) {
  run(numbered(3), "first\n", {{1, success}});
  struct {
    char const* what;
    std::optional<std::string> content;
    char const* out;
    std::string refused;
  } const rows[] = {
      {"as they were", {}, "results", ""},
      {"a torn line at the end", "first\nsec", "results", ""},
      {"elsewhere", {}, "others", "goes with the results in results, not in"},
      {"cut", "firs", "results", "was cut to 4 bytes, but 6 bytes of it are on record"},
      {"gone", "", "results", "was removed or emptied, but 6 bytes of it are on record"},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.what);
    if (row.content) write("results", *row.content);
    auto const error = error_of([&] { run(numbered(3), "", {}, row.out); });
    if (row.refused.empty()) {
      EXPECT_EQ(error.code, 0) << error.what();
      EXPECT_EQ(content("results"), "first\n");
    } else {
      expect_refused(error, exit_usage, row.refused);
    }
  }
}

TEST_F(journal_test, does_not_append_to_results_it_knows_nothing_of) {
  write("results", "another's\n");
  expect_refused(error_of([&] { run(numbered(3)); }), exit_usage, "is not empty");
  EXPECT_EQ(content("results"), "another's\n");
  EXPECT_FALSE(std::filesystem::exists(path("journal")));
}

TEST_F(journal_test, moves_with_its_results) {
  run(numbered(3), "1\n", {{1, success}});
  auto const old = folder;
  folder += "-moved";
  std::filesystem::rename(old, folder);
  run(numbered(3), "2\n", {{2, success}});
  EXPECT_EQ(content("results"), "1\n2\n");
}

void sql(std::string const& path, char const* statements) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, statements, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

TEST_F(journal_test, refuses_what_is_not_a_sound_journal_and_leaves_it_as_it_is) {
  auto const ours = [this](char const* statements) {
    run(numbered(9000), "1\n", {{1, success}});
    sql(path("journal"), statements);
  };
  auto const scribble = [this](std::int64_t at) {
    run(numbered(9000), "1\n", {{1, success}});
    std::fstream file(path("journal"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << std::string(64, 'x');
  };
  struct {
    char const* what;
    std::function<void()> make;
    char const* refused;
  } const rows[] = {
      {"text", [&] { write("journal", std::string(200, 'x')); }, "is not a headway journal"},
      {"short text", [&] { write("journal", "x"); }, "is not a headway journal"},
      {"a few zeros", [&] { write("journal", std::string(60, '\0')); }, "is not a headway journal"},
      {"zeros", [&] { write("journal", std::string(8192, '\0')); }, "is damaged"},
      {"a foreign database", [&] { sql(path("journal"), "CREATE TABLE t(x)"); },
       "is not a headway journal"},
      {"a directory", [&] { std::filesystem::create_directory(path("journal")); },
       "Is a directory"},
      {"a symbolic link", [&] { std::filesystem::create_symlink("results", path("journal")); },
       "symbolic links"},
      {"a fifo", [&] { ::mkfifo(path("journal").c_str(), 0600); }, "is not a regular file"},
      {"another version's", [&] { ours("PRAGMA user_version = 7; PRAGMA wal_checkpoint"); },
       "schema 7, this one knows 3"},
      {"one with a trigger",
       [&] { ours("CREATE TRIGGER t AFTER INSERT ON line BEGIN SELECT 1; END"); }, "is damaged"},
      {"one without its run", [&] { ours("DELETE FROM run"); }, "is damaged"},
      {"one with lines that cannot be",
       [&] { ours("INSERT INTO line VALUES(1000000000000, 1, 0)"); }, "is damaged"},
      {"one with a line in another state", [&] { ours("UPDATE line SET state = 2"); },
       "is damaged"},
      {"one with another line done", [&] { ours("UPDATE line SET number = 2"); }, "is damaged"},
      {"one with another note", [&] { ours("UPDATE note SET value = 'x'"); }, "is damaged"},
      {"one without its notes", [&] { ours("DELETE FROM note"); }, "is damaged"},
      {"one with missing lines", [&] { ours("DELETE FROM input WHERE first = 1"); }, "is damaged"},
      {"one with a name that a terminal would act on",
       [&] {
         ours(
             "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'x', "
             "name = CAST(x'611bff' AS TEXT) WHERE name = 'note'");
       },
       "is damaged (malformed database schema (a\\x1b\\xff)"},
      {"a damaged page", [&] { scribble(4096); }, "is damaged"},
      {"a shortened file",
       [&] {
         ours("");
         std::filesystem::resize_file(path("journal"), 5000);
       },
       "is damaged"},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.what);
    make_folder();
    row.make();
    bool const regular = std::filesystem::is_regular_file(path("journal"));
    auto const before = regular ? content("journal") : "";
    expect_refused(error_of([&] { run(numbered(9000)); }), exit_usage, row.refused);
    EXPECT_TRUE(!regular || content("journal") == before);
  }
}

TEST_F(journal_test, knows_what_a_killed_run_had_acknowledged) {
  auto const kill = [this] {  // what is there while it runs is what a kill leaves
    make_folder();
    std::filesystem::create_directory(path("running"));
    journal log(path("running/journal"), "JOBS", durability::process);
    for (auto const& line : numbered(3)) log.check(line);
    auto results = file::results(path("running/results"));
    log.start(results);
    for (std::int64_t line = 1; line <= 3; ++line)
      log.commit(std::vector<change>{{line, success}}, 0);
    for (auto const* name : {"journal", "journal-wal", "journal-mark", "results"})
      std::filesystem::copy_file(path("running/") + name, path(name));
  };
  auto const flip_last = [this](char const* name) {
    auto bytes = content(name);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write(name, bytes);
  };
  struct {
    char const* what;
    std::function<void()> damage;
    std::string refused;
  } const rows[] = {
      {"none", [] {}, ""},
      {"no log", [&] { std::filesystem::remove(path("journal-wal")); },
       "/journal has lost what it had acknowledged (1 of 4 commits are left): "},
      {"an empty log", [&] { write("journal-wal", ""); }, "(1 of 4 commits are left)"},
      {"a bit of the log", [&] { flip_last("journal-wal"); }, "(3 of 4 commits are left)"},
      {"no watermark", [&] { std::filesystem::remove(path("journal-mark")); },
       "/journal-mark, which says how far that had got, is missing or cut"},
      {"half a watermark", [&] { write("journal-mark", "1234567"); }, "is missing or cut"},
      {"no database", [&] { std::filesystem::remove(path("journal")); },
       "/journal is gone, of which "},
      {"an empty database", [&] { write("journal", ""); }, "is gone, of which "},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.what);
    kill();
    row.damage();
    auto const log = std::filesystem::exists(path("journal-wal")) ? content("journal-wal") : "";
    auto const again = [this] { return error_of([&] { run(numbered(3)); }); };
    if (row.refused.empty()) {
      EXPECT_EQ(again().code, 0);
      EXPECT_EQ(journal(path("journal"), "JOBS", durability::process).count(final_outcome::success),
                3);
      continue;
    }
    expect_refused(again(), exit_usage, row.refused);
    if (!log.empty()) {
      EXPECT_EQ(content("journal-wal"), log);
    }
    expect_refused(again(), exit_usage, "");
  }
}

TEST_F(journal_test, is_one_file_once_it_is_closed) {
  {
    journal log(path("journal"), "JOBS", durability::process);
    for (auto const& line : numbered(3)) log.check(line);
    auto results = file::results(path("results"));
    log.start(results);
    results.append("1\n");
    log.commit(std::vector<change>{{1, success}}, 2);
    log.close();
  }
  for (auto const* name : {"journal-wal", "journal-mark"})
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  write("results", "1\nanother's\n");
  expect_refused(error_of([&] { run(numbered(3)); }), exit_usage,
                 "has 12 bytes, but only 2 of them are on record in");
  EXPECT_EQ(content("results"), "1\nanother's\n");
  write("results", "1\n");
  EXPECT_EQ(error_of([&] { run(numbered(3)); }).code, 0);
}

TEST_F(journal_test, refuses_a_folder_where_anyone_may_replace_it) {
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  expect_refused(error_of([&] { run(numbered(3)); }), exit_usage, "anyone may replace files in");
}

TEST_F(journal_test, cannot_be_opened_where_nothing_can_be_written) {
  expect_refused(error_of([] { journal("/proc/headway", "JOBS", durability::power); }), exit_io,
                 "cannot open /proc/headway");
}

TEST_F(journal_test, has_one_holder_at_a_time) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t const holder = ::fork();
  if (holder == 0) {
    auto const error = error_of([&] {
      journal const log(path("journal"), "JOBS", durability::power);
      if (::write(ready[1], "", 1) == 1) ::pause();
    });
    ::_exit(error.code);
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  expect_refused(error_of([&] { run(numbered(3)); }), exit_parked,
                 fmt::format("another run (pid {}) holds {}", holder, path("journal")));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_EQ(error_of([&] { run(numbered(3)); }).code, 0);
}

TEST_F(journal_test, reopens_what_ended_so_once_it_is_started) {
  run(numbered(5), "", {{1, success}, {2, failed}, {3, unknown}, {4, failed}, {5, intended}});
  {
    journal log(path("journal"), "JOBS", durability::process);
    EXPECT_EQ(log.reopen(final_outcome::failed, 5), 2);  // and is never started
  }
  {
    journal log(path("journal"), "JOBS", durability::process);
    EXPECT_TRUE(log.done(2));
    EXPECT_EQ(log.lost(), (std::vector<bool>{false, false, true, true, true}));
    EXPECT_EQ(log.reopen(final_outcome::failed, 3), 1);
    EXPECT_EQ(log.reopen(final_outcome::unknown, 5), 1);
    EXPECT_FALSE(log.done(2));
    EXPECT_FALSE(log.done(3));
    EXPECT_TRUE(log.done(4));
    EXPECT_EQ(log.ended(5).failed, 1);
    EXPECT_EQ(log.ended(3).success, 1);
    EXPECT_EQ(log.count(final_outcome::unknown), 0);
    auto results = file::results(path("results"));
    log.start(results);
  }
  journal log(path("journal"), "JOBS", durability::process);
  EXPECT_FALSE(log.done(2));
  EXPECT_TRUE(log.done(4));
  EXPECT_EQ(log.intents(), (std::vector<std::int64_t>{5}));
  auto results = file::results(path("results"));
  log.start(results);
  log.commit(std::vector<change>{{2, success}, {3, failed}}, 0);
  EXPECT_EQ(log.lost(), (std::vector<bool>{false, false, false, true, true}));
}

}  // namespace
}  // namespace headway::app
