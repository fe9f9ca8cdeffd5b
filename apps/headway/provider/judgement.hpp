/// A judgement: what an answer means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/http/advice.hpp"
#include "provider/quota_units.hpp"

namespace headway::app {

/// What an answer asks of us.
enum class reaction : std::uint8_t {
  served,       ///< the server worked on it, whether the caller likes the answer or not
  rate,         ///< too many requests in a time: slower, and this one again
  concurrency,  ///< too many at once, or overloaded
  quota,        ///< one quota is used up, until its reset
  long_quota,   ///< a quota of hours or days is used up: park
  money,        ///< credit used up, or a limit that only the provider's billing lifts
  refused,      ///< credentials refused, or a ban, by the provider's own code
  transient,    ///< broken: again later, where that is safe
  permanent,    ///< will never succeed: fail this request only
};

/// Returns its name, as profiles write it.
std::string_view to_string(reaction) noexcept;
/// Returns the reaction of that name, if there is one.
std::optional<reaction> reaction_named(std::string_view) noexcept;
/// Returns all names, for people: "served, rate, …".
std::string reaction_names();

/// Returns whether the server says that it did not carry the request out.
constexpr bool throttles(reaction r) noexcept {
  return r == reaction::rate || r == reaction::concurrency || r == reaction::quota ||
         r == reaction::long_quota;
}

/// Returns whether nothing more should go to this scope.
constexpr bool stops(reaction r) noexcept {
  return r == reaction::money || r == reaction::refused;
}

/// An answer as a profile sees it.
struct answer_view {
  int status = 0;
  std::span<http::field const> fields{};
  std::string_view type{};  ///< Content-Type
  std::string_view body{};
};

struct judgement {
  reaction what = reaction::served;
  std::optional<duration> hold{};     ///< from the arrival of the answer on
  std::vector<http::quota> quotas{};  ///< what remains
  std::size_t in_fields = 0;          ///< of `quotas`, from the front: told by the head
  std::string code{};                 ///< what the server called it, "" if nothing
  std::string message{};              ///< what it said of an error in a stream
  /// The request's body with only what must go again; `served` if a quarter of it was done.
  std::optional<std::string> remainder{};
  int ignored = 0;              ///< hints that made no sense …
  std::string first_ignored{};  ///< … and the first of them, as it came, cut short
  std::vector<settled_cost> costs{};
  std::vector<settled_cost> usage{};  ///< what prices count, and prices of the profile  ///< what
                                      ///< it has cost, where the answer says so

  /// Returns code and message, for people, as the server wrote them.
  std::string words() const;
};

}  // namespace headway::app
