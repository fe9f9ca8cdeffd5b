/// A scope: one limit of a server, as far as we know.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/driver/machine_pace.hpp"
#include "run/impasse.hpp"
#include "run/profile.hpp"
#include "run/quota_book.hpp"
#include "run/request.hpp"
#include "run/trace.hpp"

namespace headway::app {

/// An account, and what of its limits the profile tells apart.
struct scope {
  std::string account;
  std::string name;                       ///< without the credential
  std::shared_ptr<machine_pace> machine;  ///< null: it paces alone
  traced_governor governor;
  quota_book book;
  held_back held{};                        ///< what the book holds the next request back for
  reason shown = reason::none;             ///< why something waits, since it was last looked at
  std::vector<std::uint32_t> by_ticket{};  ///< index of the request, by the ticket's low half
  profile const* speaks = nullptr;
  int refused_in_a_row = 0;
  impasse trouble{};
  time_point wake = time_point::min();          ///< when to look at it again
  bool renewable = false;                       ///< it has headers of --header-cmd
  time_point parked_until = time_point::min();  ///< it asks for more patience than we have
  bool stopped = false;                         ///< nothing more goes there
  int pins = 0;                                 ///< requests that will come back to it

  /// The request `index` waits in its governor, as `id`.
  void queue(time_point now, ticket id, std::uint32_t index);

  /// What comes next, by law and book.
  struct turn {
    std::uint32_t request;
    std::string never{};     ///< why it cannot ever go, a sentence; "" if it can
    bool elsewhere = false;  ///< it does not go, but waits for its next turn in another scope
  };
  /// Starts it, if it goes; nullopt: nothing may go now.
  std::optional<turn> next(time_point now, requests&, rng& chance);
  /// Nothing may go now: when to look again. The book makes nobody wait for longer than `wait_max`.
  void rest(time_point now, duration wait_max);
  /// It waited, or was started and did not go.
  void cancel(time_point now, request&);

  bool parked() const noexcept { return parked_until != time_point::min(); }
  /// What keeps it from being evicted.
  int in_flight() const noexcept { return governor.in_flight() + pins; }
  std::size_t waiting() const noexcept { return governor.waiting(); }
  /// Until when one that knows nothing could be faster in its place.
  time_point busy_until() const noexcept {
    return std::max({governor.busy_until(), book.busy_until(), trouble.ready_at(0)});
  }

  /// What others on this machine did meanwhile. With `may_send` false it waits for no turn.
  void look_at_machine(time_point now, bool may_send = true);
};

}  // namespace headway::app
