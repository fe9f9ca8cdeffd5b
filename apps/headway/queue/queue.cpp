#include "queue/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "headway/postgres/schema.hpp"
#include "headway/require.hpp"

namespace headway::app {
namespace {

using clock = std::chrono::steady_clock;
using bytes = std::vector<std::byte>;

/// Of results in one call: with all that has gathered in an outage, none would be in time.
constexpr std::size_t commit_bytes = 4 << 20;

void append(bytes& to, std::string_view text) {
  auto const* const begin = reinterpret_cast<std::byte const*>(text.data());
  to.insert(to.end(), begin, begin + text.size());
}

bool is_final(line_state s) noexcept {
  return s == line_state::success || s == line_state::failed || s == line_state::unknown;
}

queue_facts facts_of(postgres::rows const& found, int row) {
  queue_facts f;
  f.id = found.number(row, 0);
  f.name = found.text(row, 1);
  f.digest = found.text(row, 2);
  f.shape = found.text(row, 3);
  f.options = found.text(row, 4);
  f.lines = found.number(row, 5);
  f.uploaded = found.number(row, 6);
  f.requests = found.number(row, 7);
  f.sealed = found.number(row, 8) != 0;
  f.stopped = found.number(row, 9) != 0;
  return f;
}

std::string in_words(postgres::error const& e) {
  return printable(e.what());
}

/// An answer that no engine of ours gives.
[[noreturn]] void not_understood(std::string_view what) {
  throw fatal(exit_io, fmt::format("the database answers what no queue does: {}", printable(what)));
}

}  // namespace

bool is_queue_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
  });
}

queue_engine::queue_engine(postgres::endpoint where, patience again, postgres::patience limits,
                           std::stop_token stop)
    : where_(std::move(where)), again_(std::move(again)), limits_(limits), stop_(std::move(stop)) {
  limits_.answer = std::size_t{1} << 30;  // a result may be what PostgreSQL takes as one value
}

postgres::rows queue_engine::ask(std::string_view sql,
                                 std::initializer_list<postgres::parameter> values) {
  using postgres::failure;
  constexpr std::string_view read_only = "25006";  // a primary that became a standby
  for (;;) try {
      if (!connection_) connection_.emplace(where_, limits_, stop_);
      if (!has_schema_) postgres::ensure_schema(*connection_, where_);
      has_schema_ = true;
      return connection_->execute(sql, values);
    } catch (postgres::error const& e) {
      // Once it has worked, what keeps us out will be mended.
      auto const away = !connection_ || e.sqlstate == read_only;
      auto const passes = e.kind == failure::unavailable || e.kind == failure::unknown_fate ||
                          (e.kind == failure::usage && has_schema_ && away);
      if (away || connection_->lost()) connection_.reset();
      if (!passes) throw fatal(e.kind == failure::usage ? exit_usage : exit_io, in_words(e));
      if (stop_.stop_requested() || !again_(in_words(e))) throw fatal(exit_parked, in_words(e));
    }
}

std::optional<queue_facts> queue_engine::find(std::string const& name) {
  auto const found = ask("select * from headway1.queue_find($1)", {name});
  if (found.size() == 0) return std::nullopt;
  return facts_of(found, 0);
}

queue_worker::queue_worker(queue_engine& engine, queue_facts facts, std::chrono::milliseconds lease)
    : engine_(engine), facts_(std::move(facts)), lease_(lease) {
  HEADWAY_REQUIRE(facts_.sealed);
  id_ = engine_.ask("select headway1.queue_join($1)", {facts_.id}).number(0, 0);
}

queue_worker::leased queue_worker::lease() try {
  for (;;) {
    std::vector<std::int64_t> ours;
    for (auto const& [first, its] : held_) ours.push_back(first);
    auto const asked = clock::now();
    auto const found =
        engine_.ask("select * from headway1.queue_lease($1, $2, $3, $4)",
                    {facts_.id, id_, std::span<std::int64_t const>(ours), milliseconds_of_lease()});
    auto const what = found.text(0, 0);
    if (what == "wait") return {{}, none::wait};
    if (what == "ended") return {{}, none::ended};
    if (what == "parked") return {{}, none::parked};
    if (what == "stopped") return {{}, none::stopped};
    if (what == "gone") return {{}, none::gone};
    // It was sealed: the database has forgotten that, and its starter uploads the rest again.
    if (what == "unsealed") return {{}, none::wait};
    if (what != "block") not_understood(what);

    queue_block b;
    b.first = found.number(0, 1);
    b.fence = found.number(0, 3);
    b.state = found.text(0, 4);
    b.lines = found.text(0, 5);
    if (auto const damage = damage_of(b, found.number(0, 2)); !damage.empty()) {
      park(b.first, b.fence, damage);
      continue;
    }
    held its{.fence = b.fence, .last = b.first + b.size() - 1, .until = asked + lease_};
    for (std::size_t i = 0; i < b.state.size(); ++i) {
      auto const state = static_cast<line_state>(b.state[i]);
      if (state == line_state::intended)
        b.intended.push_back(b.first + static_cast<std::int64_t>(i));
      if (state == line_state::intended || state == line_state::open) ++its.left;
    }
    held_[b.first] = its;
    return {std::move(b), none::wait};
  }
} catch (postgres::error const& e) {
  not_understood(e.what());
}

/// Returns what is wrong with a block, which was read from the network; "" if nothing is.
std::string queue_worker::damage_of(queue_block const& b, std::int64_t n) {
  if (b.first < 1 || n < 1 || n > block_lines_max || n > facts_.lines - b.first + 1)
    return fmt::format("it has {} lines from {} on, of {}", n, b.first, facts_.lines);
  if (b.size() != n) return fmt::format("it has {} lines and {} states", n, b.size());
  for (std::size_t i = 0; i < b.state.size(); ++i)
    if (auto const state = static_cast<unsigned char>(b.state[i]); state > queue_block::no_request)
      return fmt::format("line {} has the state {}", b.first + static_cast<std::int64_t>(i), state);
  auto const ends = std::ranges::count(b.lines, '\n');
  if (ends != n || !b.lines.ends_with('\n'))
    return fmt::format("it has the text of {} lines, not of {}", ends, n);
  if (b.lines.size() > block_bytes_max + static_cast<std::size_t>(n))
    return fmt::format("its lines have {} bytes; up to {} are read", b.lines.size(),
                       block_bytes_max);
  auto const after = held_.lower_bound(b.first);
  if (block_of(b.first) != held_.end() || (after != held_.end() && after->first < b.first + n))
    return "it has lines of another block";
  return "";
}

auto queue_worker::block_of(std::int64_t line) -> std::map<std::int64_t, held>::iterator {
  auto const after = held_.upper_bound(line);
  if (after == held_.begin()) return held_.end();
  auto const at = std::prev(after);
  return line <= at->second.last ? at : held_.end();
}

queue_worker::committed queue_worker::commit(std::span<change const> group,
                                             std::string_view results,
                                             std::optional<std::string> spent) {
  committed so;
  std::map<std::int64_t, part> parts;
  std::size_t size = 0;
  for (auto const& [line, to] : group) {
    std::string_view result;
    if (is_final(to)) {
      auto const end = results.find('\n');
      HEADWAY_REQUIRE(end != results.npos);
      result = results.substr(0, end + 1);
      results.remove_prefix(end + 1);
    }
    auto const at = block_of(line);
    if (at == held_.end()) continue;
    auto& p = parts[at->first];
    auto const offset = static_cast<std::uint16_t>(line - at->first);
    for (auto const byte : {offset >> 8, offset & 0xff, static_cast<int>(to)})
      p.changes.push_back(static_cast<std::byte>(byte));
    append(p.results, result);
    if (is_final(to)) ++p.ended.of(static_cast<final_outcome>(to));
    size += result.size();
    if (size < commit_bytes) continue;
    commit(std::exchange(parts, {}), std::exchange(spent, std::nullopt), so);
    size = 0;
  }
  HEADWAY_REQUIRE(results.empty());
  commit(std::move(parts), spent, so);
  return so;
}

/// Makes these parts durable, by their blocks; adds what became of them.
void queue_worker::commit(std::map<std::int64_t, part> parts,
                          std::optional<std::string> const& spent, committed& so) try {
  if (parts.empty() && !spent) return;
  std::vector<std::int64_t> firsts, fences, numbers;
  std::vector<bytes> changes, texts;
  for (auto& [first, p] : parts) {
    auto const& its = held_.at(first);
    firsts.push_back(first);
    fences.push_back(its.fence);
    numbers.push_back(its.parts + 1);
    changes.push_back(std::move(p.changes));
    texts.push_back(std::move(p.results));
  }
  using int64s = std::span<std::int64_t const>;
  using arrays = std::span<bytes const>;
  auto const asked = clock::now();
  if (spent) ++told_;
  auto const said =
      engine_.ask("select * from headway1.queue_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                  {facts_.id, int64s(firsts), int64s(fences), int64s(numbers), arrays(changes),
                   arrays(texts), milliseconds_of_lease(), id_, told_,
                   spent ? postgres::parameter(*spent) : postgres::parameter(nullptr)});
  // Nothing is acknowledged but by its verdict.
  if (said.size() != static_cast<int>(firsts.size()))
    not_understood(fmt::format("of {} blocks it has {} verdicts", firsts.size(), said.size()));
  for (int row = 0; row < said.size(); ++row) {
    auto const first = firsts[static_cast<std::size_t>(row)];
    auto const verdict = said.text(row, 1);
    if (said.number(row, 0) != first)
      not_understood(
          fmt::format("a verdict on the block of line {}, not {}", said.number(row, 0), first));
    auto const at = held_.find(first);
    if (verdict == "fenced" || verdict == "lost") {
      so.lost.push_back(
          {first, verdict == "lost" ? dropped::reason::forgotten : dropped::reason::fenced});
      held_.erase(at);
      continue;
    }
    if (verdict != "committed" && verdict != "known") not_understood(verdict);
    auto& its = at->second;
    ++its.parts;
    its.left -= parts.at(first).ended.sum();
    so.ended += parts.at(first).ended;
    its.until = asked + lease_;
    if (its.left == 0) held_.erase(at);
  }
} catch (postgres::error const& e) {
  not_understood(e.what());
}

queue_worker::renewed queue_worker::renew() try {
  std::vector<std::int64_t> firsts, fences;
  for (auto const& [first, its] : held_) {
    firsts.push_back(first);
    fences.push_back(its.fence);
  }
  using int64s = std::span<std::int64_t const>;
  auto const asked = clock::now();
  auto const said =
      engine_.ask("select * from headway1.queue_renew($1, $2, $3, $4)",
                  {facts_.id, int64s(firsts), int64s(fences), milliseconds_of_lease()});
  renewed r;
  for (int row = 0; row < said.size(); ++row)
    if (!said.null(row, 0)) {
      if (auto const at = held_.find(said.number(row, 0)); at != held_.end())
        at->second.until = asked + lease_;
    } else {
      r.gone = said.null(row, 1);
      r.stopped = said.number(row, 1) != 0;
    }
  for (auto at = held_.begin(); at != held_.end();)
    if (at->second.until == asked + lease_) {
      ++at;
    } else {
      r.lost.push_back({at->first, dropped::reason::fenced});
      at = held_.erase(at);
    }
  return r;
} catch (postgres::error const& e) {
  not_understood(e.what());
}

spent_by_others queue_worker::spent() try {
  auto const said = engine_.ask("select * from headway1.queue_spent($1, $2)", {facts_.id, id_});
  spent_by_others others{std::string(said.text(0, 0)), said.number(0, 1)};
  std::istringstream lines{std::string(said.text(0, 2))};
  for (quota_units most; lines >> most.units && std::getline(lines.ignore(), most.quota);)
    others.most.push_back(most);
  return others;
} catch (postgres::error const& e) {
  not_understood(e.what());
}

void queue_worker::release(std::int64_t first) {
  auto const at = held_.find(first);
  if (at == held_.end()) return;
  std::vector<std::int64_t> const firsts{first}, fences{at->second.fence};
  using int64s = std::span<std::int64_t const>;
  engine_.ask("select headway1.queue_release($1, $2, $3)",
              {facts_.id, int64s(firsts), int64s(fences)});
  held_.erase(at);
}

void queue_worker::release() {
  while (!held_.empty()) release(held_.begin()->first);
}

void queue_worker::park(std::int64_t first, std::string const& why) {
  auto const at = held_.find(first);
  if (at == held_.end()) return;
  park(first, at->second.fence, why);
  held_.erase(first);
}

void queue_worker::park(std::int64_t first, std::int64_t fence, std::string const& why) {
  engine_.ask("select headway1.queue_park($1, $2, $3, $4)",
              {facts_.id, first, fence, printable(why)});
  parked_.push_back(
      fmt::format("queue {}: the block of line {} is parked: {}; `headway fleet "
                  "resume {}` tries it again",
                  facts_.name, first, printable(why), facts_.name));
}

clock::time_point queue_worker::held_until(std::int64_t first) const {
  auto const at = held_.find(first);
  return at == held_.end() ? clock::time_point::min() : at->second.until;
}

namespace {

std::vector<queue_status> statuses(postgres::rows const& found) {
  std::vector<queue_status> all;
  for (int row = 0; row < found.size(); ++row) {
    queue_status s;
    s.facts = facts_of(found, row);
    auto column = 10;
    for (auto* const number : {&s.success, &s.failed, &s.unknown, &s.in_hand, &s.blocks, &s.ended,
                               &s.waiting, &s.waiting_bytes, &s.taken_over, &s.parked})
      *number = found.number(row, column++);
    if (s.parked > 0)
      s.parked_why = fmt::format("line {}: {}", found.number(row, column),
                                 printable(found.text(row, column + 1)));
    s.collector = printable(found.text(row, column + 2));
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace

std::string not_uploaded(queue_facts const& f) {
  if (f.uploaded >= f.lines) return "";
  return fmt::format("{} of {} lines are uploaded", f.uploaded, f.lines);
}

std::vector<queue_status> status_of(queue_engine& engine, std::string const& name) try {
  return statuses(name.empty() ? engine.ask("select * from headway1.queue_status(null)")
                               : engine.ask("select * from headway1.queue_status($1)", {name}));
} catch (postgres::error const& e) {
  not_understood(e.what());
}

std::vector<queue_status> status_of(postgres::connection& database) {
  return statuses(database.execute("select * from headway1.queue_status(null)"));
}

void allow_queue(queue_engine& engine, std::int64_t queue, quota_units const& most) {
  engine.ask("select headway1.queue_allow($1, $2, $3)", {queue, most.quota, most.units});
}

bool stop_queue(queue_engine& engine, std::string const& name) {
  return engine.ask("select headway1.queue_stop($1, true)", {name}).number(0, 0) != 0;
}

bool resume_queue(queue_engine& engine, std::string const& name) {
  while (engine.ask("select headway1.queue_unpark($1)", {name}).number(0, 0) != 0) {
  }
  return engine.ask("select headway1.queue_stop($1, false)", {name}).number(0, 0) != 0;
}

bool drop_queue(queue_engine& engine, std::string const& name) {
  auto const was = engine.ask("select headway1.queue_drop($1)", {name}).number(0, 0) != 0;
  while (engine.ask("select headway1.queue_sweep()").number(0, 0) != 0) {
  }
  return was;
}

std::optional<std::int64_t> reopen_queue(queue_engine& engine, queue_facts const& facts,
                                         std::span<final_outcome const> outcomes) {
  std::vector<std::int64_t> states;
  for (auto const how : outcomes) states.push_back(static_cast<std::int64_t>(how));
  auto const round = engine.ask("select headway1.queue_next_round($1)", {facts.id});
  if (round.null(0, 0)) return std::nullopt;
  std::int64_t opened = 0;
  for (std::int64_t last = 0;;) {
    auto const said = engine.ask("select * from headway1.queue_reopen($1, $2, $3, $4)",
                                 {facts.id, std::span<std::int64_t const>(states),
                                  static_cast<int>(round.number(0, 0)), last});
    if (said.null(0, 0)) return std::nullopt;
    opened += said.number(0, 0);
    if (said.null(0, 1)) return opened;
    last = said.number(0, 1);
  }
}

}  // namespace headway::app
