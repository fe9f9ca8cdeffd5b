// A worker of a queue, its uploader and its collector, without HTTP: what it would have sent it
// writes to a log that only grows. For queue_test.py and bench/queue.
//
// queue_client URL upload JOBS NAME
// queue_client URL work NAME LOG GROUP [PAUSE_US]   a line of LOG: the number of one of JOBS
// queue_client URL collect NAME OUT
// queue_client URL print|status|stop|resume|drop|again NAME
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/fatal.hpp"
#include "jobs/line_cutter.hpp"
#include "queue/collect.hpp"
#include "queue/queue.hpp"
#include "queue/upload.hpp"

namespace {

using namespace headway;
using namespace headway::app;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

std::chrono::milliseconds lease_of_test() {
  auto const* const given = std::getenv("LEASE_MS");
  return std::chrono::milliseconds(given == nullptr ? 30'000 : std::atoi(given));
}

/// A line that must not be sent twice says so; blank ones and comments are no requests.
bool is_request(std::string_view line) {
  return !line.empty() && line.front() != '#';
}
bool repeatable(std::string_view line) {
  return line.find("\"once\"") == line.npos;
}

std::string result_of(std::int64_t line, std::string_view outcome, std::string_view body) {
  return fmt::format(R"({{"id":"{}","line":{},"outcome":"{}","body":"{}"}})"
                     "\n",
                     line, line, outcome, body);
}

int upload_all(queue_engine& engine, std::string const& path, std::string const& name) {
  upload_plan plan{.name = name, .jobs = path, .requests = {false}};
  steady_file jobs(file::open(path, O_RDONLY));
  line_cutter lines;
  for (std::size_t i = 0;; ++i) {
    auto const bytes = jobs.block(i);
    lines.feed(bytes);
    if (bytes.empty()) lines.finish();
    while (auto const line = lines.next()) plan.requests.push_back(is_request(*line));
    if (bytes.empty()) break;
  }
  auto const facts = upload(engine, jobs, plan);
  std::cout << facts.requests << " requests\n";
  return 0;
}

/// Works on a queue as a run does: what may be repeated is sent at once, the rest once the intent
/// is durable, and a group of results is one commit.
class work {
 public:
  work(queue_engine& engine, std::string const& name, int log, std::size_t group, int pause_us)
      : worker_(engine, *engine.find(name), lease_of_test()),
        log_(log),
        group_(group),
        pause_us_(pause_us) {}

  int go() {
    for (;;) {
      if (open_.empty() && changes_.empty()) {
        auto next = worker_.lease();
        if (!next.block) {
          if (next.why == queue_worker::none::wait) {
            worker_.renew();
            std::this_thread::sleep_for(20ms);
            continue;
          }
          report();
          return next.why == queue_worker::none::ended ? 0 : 75;
        }
        take(*next.block);
      }
      step();
    }
  }

 private:
  void take(queue_block const& block) {
    line_cutter lines;
    lines.feed(block.lines);
    for (std::size_t i = 0; i < block.state.size(); ++i) {
      auto const line = block.first + static_cast<std::int64_t>(i);
      auto const text = std::string(*lines.next());
      if (block.state[i] == 0) open_.push_back({line, text});
    }
    for (auto const line : block.intended) end(line, final_outcome::unknown);
  }

  void step() {
    std::vector<std::pair<std::int64_t, std::string>> now;
    while (!open_.empty() && now.size() < group_) {
      now.push_back(std::move(open_.front()));
      open_.pop_front();
    }
    std::vector<change> intents;
    for (auto const& [line, text] : now)
      if (!repeatable(text)) intents.push_back({line, line_state::intended});
    if (!intents.empty() && !sends_first() && drop(worker_.commit(intents, "").lost)) return;
    for (auto const& [line, text] : now) {
      pause();
      send(line);
      pause();
      end(line, text.find("\"fails\"") == text.npos || again() ? final_outcome::success
                                                               : final_outcome::failed);
    }
    drop(worker_.commit(changes_, results_).lost);
    changes_.clear();
    results_.clear();
  }

  void end(std::int64_t line, final_outcome how) {
    changes_.push_back({line, static_cast<line_state>(how)});
    results_ += result_of(line, to_string(how), body());
  }

  /// Nothing is incompressible but chance.
  std::string const& body() {
    static auto const wanted = std::getenv("BODY_BYTES");
    if (wanted == nullptr) return body_;
    constexpr std::string_view digits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
    body_.resize(static_cast<std::size_t>(std::atoi(wanted)));
    for (std::size_t i = 0; i < body_.size(); i += 8) {
      auto bits = random_();
      for (std::size_t j = i; j < std::min(i + 8, body_.size()); ++j, bits >>= 6)
        body_[j] = digits[bits & 63];
    }
    return body_;
  }

  void send(std::int64_t line) const {
    if (log_ < 0) return;
    auto const entry = fmt::format("{}\n", line);
    if (::write(log_, entry.data(), entry.size()) != static_cast<ssize_t>(entry.size()))
      std::abort();
  }

  bool drop(std::vector<queue_worker::dropped> const& lost) {
    if (lost.empty()) return false;
    for (auto const& block : lost)
      std::cout << (block.why == queue_worker::dropped::reason::fenced ? "fenced " : "forgotten ")
                << block.first << std::endl;
    open_.clear();
    changes_.clear();
    results_.clear();
    return true;
  }

  /// The mistake that intents are there to prevent.
  static bool sends_first() { return std::getenv("SENDS_FIRST") != nullptr; }
  static bool again() { return std::getenv("AGAIN") != nullptr; }
  void pause() const {
    if (pause_us_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause_us_));
  }
  void report() const {
    for (auto const& why : worker_.parked()) std::cout << why << '\n';
  }

  queue_worker worker_;
  int log_;
  std::size_t group_;
  int pause_us_;
  std::deque<std::pair<std::int64_t, std::string>> open_{};
  std::vector<change> changes_{};
  std::string results_{};
  std::string body_{};
  std::mt19937_64 random_{std::random_device{}()};
};

int collect(queue_engine& engine, std::string const& name, std::string const& out) {
  using what = enum to_collect::what;
  auto const facts = *engine.find(name);
  collector to(engine, facts, out + ".journal", out, durability::process);
  for (int steps = 1;; ++steps) {
    auto const next = to.next();
    if (next.what == what::wait) std::this_thread::sleep_for(20ms);
    if (next.what != what::block && next.what != what::wait) std::cout << steps << " steps\n";
    if (next.what == what::ended) {
      to.close();
      return 0;
    }
    if (next.what == what::parked || next.what == what::gone) {
      std::cout << next.why << '\n';
      return 75;
    }
  }
}

int status(queue_engine& engine, std::string const& name) {
  for (auto const& s : status_of(engine, name))
    std::cout << fmt::format(
        "{} sealed={} requests={} success={} failed={} unknown={} in_hand={} blocks={} ended={} "
        "waiting={} waiting_bytes={} taken_over={} parked={}\n",
        s.facts.name, s.facts.sealed, s.facts.requests, s.success, s.failed, s.unknown, s.in_hand,
        s.blocks, s.ended, s.waiting, s.waiting_bytes, s.taken_over, s.parked);
  return 0;
}

int act(std::vector<std::string> const& args) {
  auto const until = clock_type::now() + 60s;
  queue_engine engine(postgres::endpoint(args[1], postgres::source::arguments), [&](auto const&) {
    std::this_thread::sleep_for(20ms);
    return std::getenv("GIVES_UP") == nullptr && clock_type::now() < until;
  });
  auto const& verb = args[2];
  auto const& last = args.back();
  if (verb == "upload") return upload_all(engine, args[3], args[4]);
  if (verb == "collect") return collect(engine, args[3], args[4]);
  if (verb == "work") {
    auto const log =
        args[4] == "-" ? -1 : ::open(args[4].c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    return work(engine, args[3], log, std::stoul(args[5]), args.size() > 6 ? std::stoi(args[6]) : 0)
        .go();
  }
  if (verb == "stop") return stop_queue(engine, last) ? 0 : 1;
  if (verb == "resume") return resume_queue(engine, last) ? 0 : 1;
  if (verb == "drop") return drop_queue(engine, last) ? 0 : 1;
  if (verb == "print") {
    queue_printer to(engine, *engine.find(last));
    while (to.next().what == to_collect::what::block) {
    }
    return 0;
  }
  if (verb == "again") {
    auto const how = {final_outcome::failed, final_outcome::unknown};
    auto const opened =
        reopen_queue(engine, *engine.find(last), std::span(how.begin(), how.size()));
    std::cout << (opened ? std::to_string(*opened) : "held") << '\n';
    return 0;
  }
  return status(engine, last);
}

}  // namespace

int main(int argc, char** argv) try { return act({argv, argv + argc}); } catch (fatal const& e) {
  std::cout << e.what() << '\n';
  return e.code;
}
