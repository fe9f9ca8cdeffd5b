/// Threads that call a rate-limited API.
///
///   headway::throttled api;  // the default law
///   auto answer = api.call([&] { return client.put_item(item); },
///                          [](auto const& r) {
///                            return r.throttled() ? headway::outcome::throttle
///                                                 : headway::outcome::success;
///                          });
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "headway/driver/entropy.hpp"
#include "headway/driver/scopes.hpp"
#include "headway/driver/shared_governor.hpp"

namespace headway {

/// A shared governor, and one more for each scope asked for.
///
/// Each scope starts as a copy of the given governor, or as what `make` returns for its key. Keeps
/// at most `scopes_max`: a new scope replaces the one least recently asked for, unless that one is
/// in use or its next request is not due yet; if all are held, the new scope is refused. Threads:
/// safe. Outlives its permits, but scopes may outlive it.
template <class Governor = default_governor, class Listener = no_listener>
class basic_throttled : public blocking::shared_governor<Governor, Listener> {
 public:
  /// Governor of one scope, with call(), admit() and metrics().
  using line = blocking::shared_governor<Governor, Listener>;

  /// Copies `governor` and `listener` into every scope.
  explicit basic_throttled(Governor const& governor = Governor(), std::size_t scopes_max = 1024,
                           std::uint64_t seed = entropy(), Listener const& listener = {})
      : basic_throttled([governor](std::string_view) { return governor; }, scopes_max, seed,
                        listener) {}
  /// Starts each scope as `make(key)`, as machine_scopes makes it; "" is the key of calls without a
  /// scope. `make` runs in one thread at a time, with a lock held. Fewer `scopes_max` than for
  /// copies: what is shared costs more than memory.
  template <std::invocable<std::string_view> Make>
  explicit basic_throttled(Make make, std::size_t scopes_max = 64, std::uint64_t seed = entropy(),
                           Listener const& listener = {})
      : line(make(std::string_view()), seed, listener),
        scopes_(scopes_max, seed,
                [make = std::move(make), listener](std::string_view key, std::uint64_t own) {
                  return std::make_shared<line>(make(key), own, listener);
                }) {}

  /// Returns the scope of one limit: host, credential, model, … Let go of it soon: a scope in use
  /// keeps its place. Throws `refused_error` (`queue`) if all places are taken.
  std::shared_ptr<line> scope(std::string_view key) { return scopes_.at(key); }

  using line::hold;
  /// Holds all scopes that begin with `prefix`, present and future, until `until`.
  void hold(std::string_view prefix, time_point until) { scopes_.hold(prefix, until); }

 private:
  scopes<line> scopes_;
};

/// Deduces the governor from `make`.
template <std::invocable<std::string_view> Make>
basic_throttled(Make, std::size_t = 0, std::uint64_t = 0)
    -> basic_throttled<std::invoke_result_t<Make&, std::string_view>>;

/// A throttled object with the default law, for most callers.
using throttled = basic_throttled<>;

}  // namespace headway
