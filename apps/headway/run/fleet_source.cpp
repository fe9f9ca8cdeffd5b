#include "run/fleet_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "jobs/jobs_part.hpp"

namespace headway::app {
namespace {

constexpr int parked_in_a_row_max = 3;
constexpr std::size_t open_blocks_max = 64;

}  // namespace

fleet_source::fleet_source(fleet_ledger& of, line_options lines, std::string preface,
                           bound_headers headers, std::function<bool(std::string_view)> works_for)
    : ledger_(of),
      lines_(std::move(lines)),
      preface_(std::move(preface)),
      works_for_(std::move(works_for)) {
  bound = std::move(headers);
}

bool fleet_source::in_doubt(job const& j) const noexcept {
  return in_doubt_.contains(j.line);
}

void fleet_source::settle(job const& j) {
  in_doubt_.erase(j.line);
}

bool fleet_source::may_go(time_point now, job const& j) const {
  return now < ledger_.held_until(j.line) && (idempotent(j) || !ledger_.away());
}

source::news fleet_source::look(time_point) {
  auto came = ledger_.look();
  std::int64_t doubted = 0;
  for (auto& b : came.blocks) {
    for (auto const line : b.intended) in_doubt_.insert(line);
    doubted += std::ssize(b.intended);
    blocks_.push_back(std::move(b));
  }
  news what{.said = std::move(came.said), .spent = std::move(came.spent)};
  what.doubted = doubted;
  for (auto const& lost : came.lost) {
    what.lost.push_back({lost.first, lost.last});
    forget(lost.first, lost.last);
    std::erase_if(blocks_, [&](auto const& b) { return b.first == lost.first; });
    std::erase_if(jobs_, [&](auto const& j) { return lost.contain(j.line); });
    for (auto* const of : {&in_doubt_, &left_open_})
      of->erase(of->lower_bound(lost.first), of->upper_bound(lost.last));
    open_blocks_.erase(lost.first);
  }
  auto const name = ledger_.status().all.facts.name;
  what.for_good = came.gone;
  if (came.gone)
    what.over = fmt::format("queue {} was dropped", name);
  else if (came.stopped)
    what.over = fmt::format("headway fleet stop: `headway fleet resume {}` lets it go on", name);
  else if (open_blocks_.size() > open_blocks_max)
    what.over = fmt::format(
        "lines of more than {} blocks that are left open: run the same command "
        "again to go on",
        open_blocks_max);
  more_may_come = more_may_come || came.tended;
  if (came.failed) fail(came.failed);
  return what;
}

bool fleet_source::demand(std::size_t live, std::size_t waiting, bool parked) {
  gives_up_ = parked || (live == 0 && !left_open_.empty());
  auto const unread = waiting + jobs_.size();
  return ledger_.want(!ended() && blocks_.empty() && (parked || 2 * unread <= last_size_));
}

void fleet_source::leave_open(job const& j) {
  left_open_.insert(j.line);
  open_blocks_.insert(ledger_.block_with(j.line));
}

void fleet_source::tell(standing& s, time_point now) {
  auto const [all, ours, refused, before] = ledger_.status();
  auto const more = refused - std::exchange(refused_, refused);
  s.success -= more.success;
  s.failed -= more.failed;
  s.unknown -= more.unknown;
  s.total = all.facts.requests;
  s.failed_before = std::max(all.failed - ours.failed, std::int64_t{0});
  s.unknown_before = std::max(all.unknown - ours.unknown, std::int64_t{0});
  s.before =
      std::max(all.success - ours.success, std::int64_t{0}) + s.failed_before + s.unknown_before;
  s.elsewhere = std::max(s.before - before, std::int64_t{0});
  if (auto const away = ledger_.away())
    s.waiting.insert(
        s.waiting.begin(),
        {.what = hindrance::kind::broken,
         .where = "the database",
         .why = fmt::format("away for {}: {}", in_words(now - away->since), away->why)});
}

std::optional<job> fleet_source::take() {
  using enum queue_worker::none;
  while (jobs_.empty() && !blocks_.empty()) {
    auto const b = std::move(blocks_.front());
    blocks_.pop_front();
    try {
      jobs_ = read(b);
      parked_in_a_row_ = 0;
    } catch (fatal const& bad) {
      ledger_.park(b.first, bad.what());
      if (++parked_in_a_row_ < parked_in_a_row_max) continue;
      throw fatal(exit_parked,
                  fmt::format("{} blocks in a row could not be read, and are parked; the last: {}",
                              parked_in_a_row_, bad.what()));
    }
    for (auto const& j : jobs_)
      if (works_for_ && !works_for_(j.origin))
        throw fatal(
            exit_usage,
            fmt::format("{}:{}: --header-for does not name {}; this host takes no more lines",
                        lines_.file, j.line, printable(j.origin)));
    last_size_ = jobs_.size();
  }
  if (!jobs_.empty()) {
    auto next = std::move(jobs_.front());
    jobs_.pop_front();
    return next;
  }
  more_may_come = false;
  auto const none = ledger_.why_none();
  if (!none) return std::nullopt;
  // What others hold may come to us yet, unless we could not send it either.
  if (*none == ended || *none == parked) at_end = ledger_.collected();
  if (*none == wait) at_end = gives_up_;
  return std::nullopt;
}

/// Throws fatal where it is not to be worked on.
std::deque<job> fleet_source::read(queue_block const& b) const {
  jobs_part part(lines_, preface_, b.first, b.lines);
  std::deque<job> all;
  while (auto j = part.next()) {
    auto const where = fmt::format("{}:{}: ", lines_.file, j->line);
    auto const state = b.state[static_cast<std::size_t>(j->line - b.first)];
    if (state == queue_block::no_request)
      throw fatal(exit_usage, where + "the database does not know that this is a request");
    if (j->body_file) throw fatal(exit_usage, where + "body_file is a file of another host");
    if (state == static_cast<char>(line_state::open) ||
        state == static_cast<char>(line_state::intended))
      all.push_back(std::move(*j));
  }
  // A line that is waited for, and that no request comes of, would keep all hosts waiting.
  auto const waited_for = std::ranges::count_if(b.state, [](char state) {
    return state == static_cast<char>(line_state::open) ||
           state == static_cast<char>(line_state::intended);
  });
  if (waited_for != std::ssize(all))
    throw fatal(exit_usage,
                fmt::format("{} lines of it are requests, as the database knows, and {} are read",
                            waited_for, all.size()));
  return all;
}

}  // namespace headway::app
