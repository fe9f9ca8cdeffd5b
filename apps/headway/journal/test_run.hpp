/// A run as tests see it: journal, results and recorder around a world that remembers what it was
/// told; and its judge.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/fatal.hpp"
#include "journal/journal.hpp"
#include "journal/recorder.hpp"
#include "os/test_disk.hpp"

namespace headway::app {

/// What a test_disk's notes mean.
enum world_note : int { told_done, was_sent, told_not_carried_out, promises };

/// What the world knows, hence what must not be lost.
struct world {
  std::set<std::int64_t> done;  // acknowledged
  std::set<std::int64_t> sent;  // not to be sent twice, and perhaps carried out
  bool promised = true;         // that a power cut is survived

  void happen(disk_event const& e) {
    if (e.what != disk_event::note) return;
    if (e.inode == told_done) done.insert(e.at);
    if (e.inode == was_sent) sent.insert(e.at);
    if (e.inode == told_not_carried_out) sent.erase(e.at);
    if (e.inode == promises) promised = e.at != 0;
  }
};

/// `lines` requests; every third must not be sent twice.
struct test_run {
  std::string folder;
  std::int64_t lines;
  durability level = durability::power;
  bool stream = false;  // the input is read while it runs

  static std::string request(std::int64_t line) { return fmt::format("http://127.0.0.1/{}", line); }
  static std::string result(std::int64_t line, final_outcome how) {
    return fmt::format("{} {} {}", line, static_cast<int>(how),
                       std::string(static_cast<std::size_t>(line * 37 % 700), 'x'));
  }

  /// Journal and results as every run opens them: `use(log, results)` goes on from there.
  template <class Use>
  void open(Use use) const {
    journal log(folder + "/journal", "JOBS", level);
    auto const all = stream ? log.lines() : lines;
    for (std::int64_t line = 1; line <= all; ++line) log.check(request(line));
    if (!stream) log.end_of_input();
    auto results = file::results(folder + "/out/results");
    log.start(results);
    use(log, std::move(results));
  }

  /// Up to `most` lines, in batches. What becomes of them is noted on `d` if there is one.
  void go(test_disk* d, unsigned seed, std::int64_t most = INT64_MAX) const {
    std::mt19937 random(seed);
    auto const note = [&](int what, std::int64_t line) {
      if (d) d->note(what, line);
    };
    if (level != durability::power) note(promises, 0);
    open([&](journal& log, file results) {
      if (level == durability::power) note(promises, 1);
      if (newest_database() != nullptr)
        sqlite3_wal_autocheckpoint(newest_database(), static_cast<int>(4 + random() % 12));
      for (std::int64_t line = 1; line <= lines; ++line)
        if (log.done(line)) note(told_done, line);
      recorder r(&log, std::move(results), -1);
      std::vector<std::int64_t> batch;
      auto const drain = [&] {
        r.drain();
        for (auto const line : batch) note(told_done, line);
        batch.clear();
      };
      auto const finish = [&](std::int64_t line, final_outcome how) {
        r.finish(line, how, result(line, how));
        batch.push_back(line);
      };
      auto const& intents = log.intents();
      for (std::int64_t line = 1; line <= lines && most > 0; ++line) {
        if (stream && line > log.lines()) log.check(request(line));
        if (log.done(line)) continue;
        --most;
        if (std::find(intents.begin(), intents.end(), line) != intents.end()) {
          finish(line, final_outcome::unknown);
        } else if (line % 3 == 0) {
          for (bool throttled = random() % 4 == 0;; throttled = false) {
            r.intend(line);
            drain();
            note(was_sent, line);
            if (!throttled) break;
            note(told_not_carried_out, line);
            r.clear(line);
          }
          finish(line, final_outcome::success);
        } else {
          finish(line, line % 7 == 0 ? final_outcome::failed : final_outcome::success);
        }
        if (random() % 3 == 0) drain();
      }
      drain();
    });
  }

  /// Opens what is there as the next run does. What is wrong, in one line; "" if nothing is.
  std::string judge(world const& told) const {
    std::string wrong;
    try {
      open([&](journal& log, file const&) { wrong = judge(told, log); });
    } catch (std::exception const& error) {
      wrong = error.what();
    }
    return wrong;
  }

  /// As above, and the run must finish: every line done, each once.
  std::string judge_to_the_end(world told) const {
    auto wrong = judge(told);
    if (!wrong.empty()) return wrong;
    try {
      go(nullptr, 1);
    } catch (std::exception const& error) {
      return fmt::format("the run after it: {}", error.what());
    }
    for (std::int64_t line = 1; line <= lines; ++line) told.done.insert(line);
    return judge(told);
  }

  /// Where the journal's database is, if remember_databases() was called.
  static sqlite3*& newest_database() {
    static sqlite3* it = nullptr;
    return it;
  }
  static void remember_databases() {
    auto const entry = [](sqlite3* db, char const**, void const*) {
      newest_database() = db;
      return SQLITE_OK;
    };
    using entry_point = int (*)(sqlite3*, char const**, void const*);
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(static_cast<entry_point>(entry)));
  }

 private:
  std::string judge(world const& told, journal const& log) const {
    std::map<std::int64_t, int> seen;
    std::array<std::int64_t, 4> counts{};
    std::ifstream in(folder + "/out/results", std::ios::binary);
    std::string text;
    while (std::getline(in, text)) {
      long line = 0;
      int how = 0;
      if (in.eof() || std::sscanf(text.c_str(), "%ld %d ", &line, &how) != 2 || how < 1 ||
          how > 3 || text != result(line, static_cast<final_outcome>(how)))
        return fmt::format("no result: {}", text.substr(0, 40));
      if (++seen[line] > 1) return fmt::format("line {} is in the results twice", line);
      ++counts[static_cast<std::size_t>(how)];
    }
    for (auto const how : {final_outcome::success, final_outcome::failed, final_outcome::unknown})
      if (log.count(how) != counts[static_cast<std::size_t>(how)])
        return "journal and results disagree on outcomes";
    for (std::int64_t line = 1; line <= lines; ++line) {
      if (log.done(line) != (seen.count(line) > 0))
        return fmt::format("journal and results disagree on line {}", line);
      if (!log.done(line) && told.done.contains(line)) return fmt::format("line {} is lost", line);
      if (!log.done(line) && told.sent.contains(line) &&
          !std::binary_search(log.intents().begin(), log.intents().end(), line))
        return fmt::format("line {} would be sent twice", line);
    }
    return "";
  }
};

/// An empty folder in memory if there is one, since thousands of them are synced; gone at the end.
class test_folder {
 public:
  test_folder() {
    std::string pattern = (std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") +
                          std::string("/headway-XXXXXX");
    path_ = std::filesystem::canonical(::mkdtemp(pattern.data())).string();
    clear();
  }
  test_folder(test_folder const&) = delete;
  test_folder& operator=(test_folder const&) = delete;
  ~test_folder() { std::filesystem::remove_all(path_); }

  void clear() const {
    std::filesystem::create_directory(path_ + "/out");
    write_files(path_, {});
  }
  std::string const& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace headway::app
