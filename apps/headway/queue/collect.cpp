#include "queue/collect.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "headway/driver/entropy.hpp"
#include "journal/input_order.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t parts_bytes = 4 << 20;  // that are asked for at once
constexpr char place_key[] = "collected", id_key[] = "collector", queue_key[] = "queue";

struct candidate {
  to_collect is;
  place_in_queue at{};
};

/// What comes after a block.
candidate after(queue_engine& engine, queue_facts const& facts, place_in_queue const& last) {
  using what = enum to_collect::what;
  auto const found = engine.ask("select * from headway1.queue_to_collect($1, $2, $3)",
                                {facts.id, static_cast<int>(last.round), last.first});
  auto const said = found.text(0, 0);
  place_in_queue const at{found.number(0, 1), found.number(0, 2)};
  if (said == "block") return {{what::block, {}}, at};
  if (said == "wait" || said == "unsealed") return {{what::wait, {}}, at};
  if (said == "ended") return {{what::ended, {}}, at};
  if (said == "parked")
    return {{what::parked, fmt::format("queue {}: the block of line {} is parked: {}", facts.name,
                                       at.first, printable(found.text(0, 4)))},
            at};
  return {{what::gone, {}}, at};
}

/// Appends the next of the results of a block, in the order of its commits; returns whether there
/// were any. `last`: the part that was read last.
bool spool_more(queue_engine& engine, queue_facts const& facts, std::int64_t first,
                part_of_block& last, file& spool) {
  auto const parts = engine.ask("select * from headway1.queue_parts($1, $2, $3, $4, $5)",
                                {facts.id, first, last.fence, last.part, parts_bytes});
  for (int row = 0; row < parts.size(); ++row) {
    last = {parts.number(row, 0), parts.number(row, 1)};
    spool.append(parts.text(row, 2));
  }
  return parts.size() > 0;
}

/// Writes the results of a block in the order of lines; false where that is not possible.
bool write_block(queue_facts const& facts, std::int64_t first, file const& spool, int out) try {
  return write_in_order(spool, out);
} catch (fatal const& e) {
  throw fatal(e.code, fmt::format("queue {}: what the database has for results of the block of "
                                  "line {} is not from headway ({}); nothing of it is taken",
                                  facts.name, first, e.what()));
}

std::string new_id(std::string const& out) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}:{} {:016x}", host.data(),
                     std::filesystem::absolute(out).lexically_normal().string(), entropy());
}

/// As the journal has it.
void read_place(std::string const& noted, place_in_queue& at, part_of_block& last) {
  std::sscanf(noted.c_str(), "%ld %ld %ld %ld", &at.round, &at.first, &last.fence, &last.part);
}

}  // namespace

collector::collector(queue_engine& engine, queue_facts facts, std::string const& journal_path,
                     std::string const& out, durability level)
    : engine_(engine),
      facts_(std::move(facts)),
      log_(journal_path, "queue " + facts_.name, level),
      out_(file::results(out)) {
  auto const queue = std::to_string(facts_.id);
  auto const refuse = [&](std::string const& why) {
    throw fatal(exit_usage, fmt::format("queue {}: {}", facts_.name, why));
  };
  id_ = log_.noted(id_key);
  read_place(log_.noted(place_key), last_, part_);
  if (id_.empty()) {
    id_ = new_id(out);
    log_.put({id_key, id_});
    log_.put({queue_key, queue});
  }
  log_.start(out_);
  size_ = out_.size();
  auto const claims = log_.noted(queue_key) == queue && last_.round == 0;
  auto const found =
      engine_.ask("select headway1.queue_collector($1, $2, $3)", {facts_.id, id_, claims});
  if (std::string const holder(found.text(0, 0)); holder != id_) {
    if (holder.empty())
      refuse(fmt::format("it is not the one whose results are in {}; choose another --out", out));
    refuse(fmt::format("its results are collected into {}; collect them there",
                       printable(holder.substr(0, holder.rfind(' ')))));
  }
  // The last one was killed between its journal and the engine.
  if (last_.round > 0) tell_collected();
}

/// The file has the block: the engine need not keep it.
void collector::tell_collected() {
  auto const known = engine_.ask(
      "select headway1.queue_collected($1, $2, $3, $4, $5, $6)",
      {facts_.id, id_, static_cast<int>(last_.round), last_.first, part_.fence, part_.part});
  if (!known.null(0, 0) && known.number(0, 0) == 0)
    throw fatal(exit_io, fmt::format("queue {}: the database does not know any longer that its "
                                     "results are collected into {}, as after a failover to a "
                                     "standby that was behind; what is in the file may come again",
                                     facts_.name, out_.path()));
}

to_collect collector::next() {
  using what = enum to_collect::what;
  if (!spool_) {
    auto const next = after(engine_, facts_, last_);
    if (next.is.what != what::block) return next.is;
    spool_ = nameless_file(out_.path());
    spooled_ = next.at;
    part_ = {};
  }
  if (spool_more(engine_, facts_, spooled_.first, part_, *spool_)) return {what::block, {}};
  auto const spool = *std::exchange(spool_, std::nullopt);
  if (!write_block(facts_, spooled_.first, spool, out_.fd())) {
    int const error = errno;
    if (out_.regular()) out_.truncate(size_);
    throw fatal(exit_io, fmt::format("cannot write {}: {}", out_.path(), std::strerror(error)));
  }
  size_ += spool.size();
  if (log_.level() == durability::power) out_.sync();
  out_.require_untouched(size_);
  last_ = spooled_;
  note const place{place_key,
                   fmt::format("{} {} {} {}", last_.round, last_.first, part_.fence, part_.part)};
  log_.commit({}, size_, {&place, 1});
  tell_collected();
  return {what::block, {}};
}

to_collect queue_printer::next() {
  auto const next = after(engine_, facts_, last_);
  if (next.is.what != to_collect::what::block) return next.is;
  auto spool = nameless_file({});
  for (part_of_block last; spool_more(engine_, facts_, next.at.first, last, spool);) {
  }
  if (!write_block(facts_, next.at.first, spool, STDOUT_FILENO)) throw unprinted(errno);
  last_ = next.at;
  return next.is;
}

}  // namespace headway::app
