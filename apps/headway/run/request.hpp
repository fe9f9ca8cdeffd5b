/// A request that has been read and has not ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/governor.hpp"
#include "jobs/job.hpp"
#include "pacing/lane.hpp"

namespace headway::app {

/// It waits in its lane, or is `out`: its turn has come, and it goes once the journal knows of it
/// or flies. Either way it may be `intended`: as the journal knows, it may have been carried out.
///
/// Once a redirect has led it out of the lane of its line, its `home`, each send takes a turn there
/// as well: it waits at home first, and then in the lane that it goes to. So whatever redirects
/// say, the lines of one lane make no more sends than its limit allows.
struct request {
  job what;
  lane* where = nullptr;  ///< null: there is no request
  ticket id{};
  std::vector<std::string> headers{};
  std::string content{};  ///< of body_file
  time_point read{};
  std::optional<time_point> first_sent{};
  time_point sent{};
  int attempts = 0;
  bool stale = false;  ///< one of these met a kept connection that was closed
  int throttled = 0;
  int refusals = 0;      ///< of these, since it got on
  std::string said{};    ///< what the server called the last refusal
  std::string so_far{};  ///< the answer to what has been done of it, where something was left
  std::vector<std::string> hops{};  ///< URLs that have sent it on
  lane_pin home{};                  ///< null: no redirect has led it out of there
  lane_pin bound_for{};             ///< it waits at home for a turn, to go there
  bool had_turn_at_home = false;    ///< for its next send
  int broken = 0;                   ///< attempts; what --attempts-max counts
  std::uint64_t values = 0;         ///< generation of --header-cmd's, in the last attempt
  bool denied = false;              ///< a good status, but the profile says that it failed
  bool renewed = false;             ///< it goes again with new ones
  bool out = false;
  bool heard = false;  ///< an answer to its last attempt has begun
  bool owes = false;   ///< its last attempt may have cost something, and no answer says what
  bool aside = false;  ///< its turn had come, and it waits for the journal, in no lane
  time_point aside_since{};
  bool lost = false;  ///< another run has its line
  bool intended = false;
  std::uint64_t intent = 0;  ///< number of that change
  std::size_t weighed = 0;   ///< bytes that `requests` counts for it

  /// Whether its next send needs a turn at home before it has one here.
  bool needs_turn_at_home() const noexcept {
    return home && home.get() != where && !had_turn_at_home;
  }

  /// It waits at home next, and then here. Requires: needs_turn_at_home().
  void wait_at_home() noexcept {
    bound_for = lane_pin(*where);
    where = home.get();
  }

  /// Where its line says that it goes.
  std::string const& given_url() const noexcept { return hops.empty() ? what.url : hops.front(); }
  /// What goes out as its body; nullopt: none.
  std::optional<std::string_view> body() const noexcept;
  /// Reads body_file; false where it can no longer be read.
  bool read_body_file();
};

/// Returns what it asks of the lane that it is in.
load load_of(request const&);

/// Returns where it stands, a sentence.
std::string words_of(request const&, time_point now);

/// All of them, by an index that stays while the request lives; bounded. References stay valid.
class requests {
 public:
  static constexpr std::size_t requests_max = 4096;
  static constexpr std::size_t bytes_max = std::size_t{64} << 20;

  std::uint32_t add(request&&);
  request& operator[](std::uint32_t index) noexcept { return all_[index]; }
  request const& operator[](std::uint32_t index) const noexcept { return all_[index]; }
  void forget(std::uint32_t index);

  /// What was read of body_file is read again when it goes again.
  void unload(std::uint32_t index) noexcept { std::string().swap(all_[index].content); }

  /// Its URL or body has changed.
  void weigh(std::uint32_t index) noexcept;
  /// Of its body only `remainder` must go again; the answers so far are `so_far`.
  void reduce(std::uint32_t index, std::string remainder, std::string_view so_far);

  std::size_t live() const noexcept { return all_.size() - free_.size(); }
  bool full() const noexcept { return live() >= requests_max || bytes_ >= bytes_max; }
  /// Whether `f` holds of each.
  template <class F>
  bool all(F f) const {
    return std::ranges::all_of(all_, [&](auto const& r) { return r.where == nullptr || f(r); });
  }
  template <class P, class F>
  void each(P wanted, F f) const {
    for (std::uint32_t i = 0; i < all_.size(); ++i)
      if (all_[i].where != nullptr && wanted(all_[i])) f(i);
  }
  /// Calls `f(index)` for each that `wanted` holds of; it may forget that one.
  template <class P, class F>
  void each(P wanted, F f) {
    for (std::uint32_t i = 0; i < all_.size(); ++i)
      if (all_[i].where != nullptr && wanted(std::as_const(all_[i]))) f(i);
  }

 private:
  std::deque<request> all_;
  std::vector<std::uint32_t> free_;
  std::size_t bytes_ = 0;
};

}  // namespace headway::app
