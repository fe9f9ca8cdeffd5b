#include "fleets/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "fleets/queues.hpp"
#include "headway/fleet/blob.hpp"
#include "pacing/fleet_link.hpp"

namespace headway::app {
namespace {

using clock = std::chrono::steady_clock;

constexpr double microsecond = 1e-6;
constexpr std::int64_t forgotten = 600'000'000;  // µs of silence; headway1.unheard has the same

void read(limit_status& limit, std::string_view blob, std::int64_t now) {
  auto const state = fleet::read_state(blob);
  if (!state) return;
  limit.readable = true;
  auto const known = state->law.knows();
  limit.rate = known.rate;
  limit.slots = known.slots;
  limit.pace = state->law.pace();
  limit.dealt = state->dealt;
  limit.cuts = state->law.so_far.epoch;
  auto const engine = time_point(std::chrono::microseconds(now));
  if (limit.cuts > 0) limit.cut_s = std::max(to_seconds(engine - state->law.last.at), 0.0);
  if (state->held > engine) limit.held_s = to_seconds(state->held - engine);
}

std::string hexadecimal(std::span<std::byte const> bytes) {
  std::string out;
  for (auto const byte : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return out;
}

double seconds_between(fleet_status const& before, fleet_status const& now) {
  return std::chrono::duration<double>(now.at - before.at).count();
}

/// Turns a second; 0 where that is not known.
double dealt_a_second(limit_status const& limit, fleet_status const& now,
                      fleet_status const& before) {
  auto const was = std::ranges::find(before.limits, limit.key, &limit_status::key);
  auto const seconds = seconds_between(before, now);
  if (was == before.limits.end() || !(seconds > 0) || was->dealt > limit.dealt) return 0;
  return static_cast<double>(limit.dealt - was->dealt) / seconds;
}

double calls_a_second(fleet_status const& now, fleet_status const& before) {
  auto const seconds = seconds_between(before, now);
  return seconds > 0 ? std::max(0.0, static_cast<double>(now.calls - before.calls)) / seconds : 0;
}

double done_a_second(queue_status const& queue, fleet_status const& now,
                     fleet_status const& before) {
  auto const id = [](queue_status const& q) { return q.facts.id; };
  auto const was = std::ranges::find(before.queues, queue.facts.id, id);
  auto const seconds = seconds_between(before, now);
  if (was == before.queues.end() || !(seconds > 0)) return 0;
  return std::max(0.0, static_cast<double>(queue.done() - was->done())) / seconds;
}

std::string name_of(limit_status const& limit, std::int64_t id) {
  auto const it = std::ranges::find(limit.hosts, id, &host_status::id);
  return it == limit.hosts.end() ? fmt::format("host {}", id) : it->name;
}

std::string words_of(double seconds) {
  return in_words(from_seconds(seconds < 10 ? seconds : std::floor(seconds)));
}

/// "40 (a, b, c, …)"
std::string roll_of(limit_status const& limit) {
  constexpr std::size_t shown_max = 8;
  std::string names;
  std::size_t shown = 0;
  for (auto const& host : limit.hosts) {
    if (host.unheard()) continue;
    if (++shown > shown_max) break;
    names += (shown == 1 ? "" : ", ") + printable(host.name);
  }
  auto const here = std::ssize(limit.hosts) - limit.unheard;
  if (here == 0) return "0";
  return fmt::format("{} ({}{})", here, names, shown > shown_max ? ", …" : "");
}

std::string unheard_of(limit_status const& limit) {
  if (limit.unheard == 0) return "";
  double longest = 0;
  for (auto const& host : limit.hosts) longest = std::max(longest, host.silent_s);
  return fmt::format("; {} unheard for {}: {} than learned", limit.unheard, words_of(longest),
                     excess_in_words(limit.excess));
}

}  // namespace

fleet_status look(postgres::connection& database) {
  fleet_status status;
  auto const asked = clock::now();
  auto const rows = database.execute(
      "select title, key, v, combiner, state, now, id, name, version, seen, unheard, excess "
      "from headway1.limits()");
  status.at = clock::now();
  status.answer_s = std::chrono::duration<double>(status.at - asked).count();
  for (int row = 0; row < rows.size(); ++row) {
    auto const key = hexadecimal(rows.bytes(row, 1));
    auto const now = rows.number(row, 5);
    if (status.limits.empty() || status.limits.back().key != key) {
      auto& limit = status.limits.emplace_back();
      limit.title = rows.text(row, 0);
      limit.key = key;
      limit.combiner = rows.number(row, 3);
      limit.unheard = rows.number(row, 10);
      limit.excess = rows.real(row, 11);
      read(limit, rows.text(row, 4), now);
    }
    auto const seen = rows.number(row, 9);
    if (rows.null(row, 6) || now - seen > forgotten) continue;  // none, or it has left
    status.limits.back().hosts.push_back(
        {.id = rows.number(row, 6),
         .name = std::string(rows.null(row, 7) ? "?" : rows.text(row, 7)),
         .version = std::string(rows.text(row, 8)),
         .silent_s = std::max(0.0, static_cast<double>(now - seen) * microsecond)});
  }
  status.queues = status_of(database);
  status.calls = database
                     .execute(
                         "select coalesce(sum(xact_commit + xact_rollback), 0)::bigint "
                         "from pg_stat_database where datname = current_database()")
                     .number(0, 0);
  return status;
}

std::string in_lines(fleet_status const& now, fleet_status const& before) {
  std::string out;
  for (auto const& limit : now.limits) {
    out += fmt::format("limit    {} …{}  ", printable(limit.title),
                       limit.key.substr(limit.key.size() < 4 ? 0 : limit.key.size() - 4));
    if (!limit.readable)
      out += "is kept by another version of headway";
    else if (limit.slots > 0)
      out += fmt::format("about {:.0f} at once", limit.slots);
    else if (limit.rate > 0)
      out += "~" + rate_in_words(limit.rate);
    else
      out += "not learned yet";
    if (auto const dealt = dealt_a_second(limit, now, before); dealt > 0)
      out += ", " + rate_in_words(dealt) + " dealt";
    if (limit.held_s > 0) out += ", held for " + words_of(limit.held_s);
    if (limit.cut_s) out += fmt::format(", last cut {} ago", words_of(*limit.cut_s));
    out += fmt::format("; combiner {}\n", printable(name_of(limit, limit.combiner)));
    out += fmt::format("hosts    {}{}\n", roll_of(limit), unheard_of(limit));
  }
  if (now.limits.empty()) out += "limit    none is shared yet\n";
  for (auto const& queue : now.queues) {
    auto const lines = in_words(queue);
    auto const speed = done_a_second(queue, now, before);
    out += fmt::format("queue    {}: {}{}\n", printable(queue.facts.name), lines[0],
                       speed > 0 ? ", " + rate_in_words(speed) : "");
    out += fmt::format("results  {}\n", lines[1]);
  }
  out += fmt::format("engine   answers in {:.1f} ms, {:.0f} calls/s\n", 1e3 * now.answer_s,
                     calls_a_second(now, before));
  return out;
}

std::string in_json(fleet_status const& now, fleet_status const& before) {
  std::string limits;
  for (auto const& limit : now.limits) {
    std::string hosts;
    for (auto const& host : limit.hosts)
      hosts += fmt::format(R"({}{{"id":{},"name":{},"version":{},"silent_s":{:.3f}}})",
                           hosts.empty() ? "" : ",", host.id, json_string(host.name),
                           json_string(host.version), host.silent_s);
    limits += fmt::format(
        R"({}{{"title":{},"key":"{}","readable":{},"rate":{:.6g},"slots":{:.6g},"pace":{:.6g},)"
        R"("dealt":{},"dealt_per_second":{:.6g},"cuts":{},"last_cut_s":{},"held_s":{:.3f},)"
        R"("combiner":{},"unheard":{},"excess":{:.4g},"hosts":[{}]}})",
        limits.empty() ? "" : ",", json_string(limit.title), limit.key, limit.readable, limit.rate,
        limit.slots, limit.pace, limit.dealt, dealt_a_second(limit, now, before), limit.cuts,
        limit.cut_s ? fmt::format("{:.3f}", *limit.cut_s) : "null", limit.held_s, limit.combiner,
        limit.unheard, limit.excess, hosts);
  }
  std::string queues;
  for (auto const& q : now.queues)
    queues += fmt::format(
        R"({}{{"name":{},"lines":{},"uploaded":{},"sealed":{},"stopped":{},"requests":{},)"
        R"("success":{},"failed":{},"unknown":{},"in_hand":{},"done_per_second":{:.6g},)"
        R"("blocks":{},"ended":{},"waiting":{},"waiting_bytes":{},"taken_over":{},"parked":{}}})",
        queues.empty() ? "" : ",", json_string(q.facts.name), q.facts.lines, q.facts.uploaded,
        q.facts.sealed, q.facts.stopped, q.facts.requests, q.success, q.failed, q.unknown,
        q.in_hand, done_a_second(q, now, before), q.blocks, q.ended, q.waiting, q.waiting_bytes,
        q.taken_over, q.parked);
  return fmt::format(
      R"({{"limits":[{}],"queues":[{}],"engine":{{"answer_ms":{:.3f},"calls_per_second":{:.1f}}}}})",
      limits, queues, 1e3 * now.answer_s, calls_a_second(now, before));
}

}  // namespace headway::app
