/// What all runs of a journal, or a queue, have spent of named quotas, beside what they may:
/// --spend-max.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provider/quota_units.hpp"

namespace headway::app {

inline constexpr char spent_key[] = "spent";  ///< of the notes that have a ledger()

/// What answers have cost of a quota.
struct spent_units {
  double units = 0;
  double answers = 0;
  double most = 0;  ///< that one has cost

  double average() const noexcept { return answers > 0 ? units / answers : 0; }
};

/// A request costs what its answer says, else what the caller said, and until then what those
/// before it did on average. An attempt that may have cost something without an answer that says
/// what, since it broke or its run was killed, costs the average, too. Threads: distinct objects
/// safe.
///
/// Of a queue, runs know of each other what share() was last told.
class spending {
 public:
  /// `most` of each quota, none of them twice. `before`: the ledger() of the last run; beside it
  /// `in_doubt` attempts were in flight when that ended.
  explicit spending(std::span<quota_units const> most, std::string_view before = {},
                    std::int64_t in_doubt = 0);

  /// There is no limit: any cost will do.
  bool empty() const noexcept { return most_.empty(); }

  /// So much of a quota may be spent from now on.
  void allow(quota_units);

  /// A request was served; `given`: its costs by the caller, `told`: by its answer. Why nothing
  /// more can go, a sentence: one more would be too much, or its cost is not stated; "" if
  /// neither.
  std::string charge(std::span<quota_units const> given, std::span<settled_cost const> told);
  /// An attempt may have cost something, and no answer will say what.
  void lose() noexcept { ++lost_; }
  /// So many attempts of runs that were lost are ours by now.
  void doubt(std::int64_t many) noexcept { in_doubt_ += many; }
  /// One of those in doubt is no longer so for the journal: from now on the ledger has it.
  void resolve() noexcept;
  /// What the other runs of a queue have spent by now, a ledger(), and how many attempts of theirs
  /// are out.
  void share(std::string_view others, std::int64_t flying);

  /// Why not even one more can go, a sentence; "" if it can.
  std::string exhausted() const;
  /// Whether one more can go beside the `out` that have no answer yet. The first flies alone, and
  /// what flies is taken to cost as much as the dearest, so that not even luck passes the limit by
  /// more than one request.
  bool room_beside(std::int64_t out) const noexcept;

  /// All of it but what others have spent, for the next run; "" if there is nothing.
  std::string ledger() const;

  /// What has been spent, for people: a line, or "".
  std::string words() const;

  std::map<std::string, spent_units> const& all() const noexcept { return all_; }
  /// What has been spent of a quota, by estimate where it was not stated.
  double total(spent_units const&) const noexcept;

 private:
  bool passed_by_one(quota_units const& most) const noexcept;
  std::string why_exhausted(quota_units const& most) const;

  using account = std::map<std::string, spent_units>;
  static account read(std::string_view ledger, std::int64_t& lost);
  static void add(account& to, std::string const& quota, spent_units const&);

  std::vector<quota_units> most_;
  std::int64_t lost_ = 0, lost_by_others_ = 0;
  account own_, all_;  // all: with those of others
  std::int64_t in_doubt_ = 0;
  std::int64_t flying_ = 0;  // of others
};

/// So much of something, for people: 12.3k, 0.0456.
std::string in_units(double);

}  // namespace headway::app
