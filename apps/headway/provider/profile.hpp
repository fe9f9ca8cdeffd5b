/// A profile: how one provider says "slow down", as data.
#pragma once

#include <cstdint>
#include <memory>
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

std::string_view to_string(reaction) noexcept;

/// Whether the server says that it did not carry the request out.
constexpr bool throttles(reaction r) noexcept {
  return r == reaction::rate || r == reaction::concurrency || r == reaction::quota ||
         r == reaction::long_quota;
}

/// Whether nothing more should go to this scope.
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
  std::string code{};                 ///< what the server called it, "" if nothing
  /// The request's body with only what must go again; `served` if a quarter of it was done.
  std::optional<std::string> remainder{};
  int ignored = 0;                    ///< hints that made no sense
  std::vector<settled_cost> costs{};  ///< what it has cost, where the answer says so
};

/// Rules that are tried in their order, then what HTTP itself says (classify.hpp).
///
/// A file is TOML; profiles/README.md says how to write one. Errors: fatal(exit_usage) that names
/// file, line and what is allowed. Threads: const members safe.
class profile {
 public:
  /// One that ships, or the file of that name where there is a slash or a dot in it.
  static profile named(std::string const&);
  /// The one that knows this host, by its longest pattern, else "generic".
  static profile const& of_host(std::string_view host);
  static profile parse(std::string_view toml, std::string const& file);
  static std::vector<std::string> names();

  std::string const& name() const noexcept;

  /// What to make of an answer to a request with this body. Never throws, whatever the server sent;
  /// looks at the first MiB of a body, and at all of one that may be a partial success.
  judgement judge(answer_view const&, std::string_view request_body,
                  std::chrono::sys_seconds now) const;

  /// What of the server's limits a request falls under, beside origin and credential: part of its
  /// path, its model; "" where all fall under the same. At most 200 bytes. Never throws.
  std::string partition_of(std::string_view url, std::string_view request_body) const;

  /// The answers to a request and to what the earlier one left undone of it, as one.
  std::string joined(std::string_view earlier, std::string_view later) const;

  /// What a byte of a request's body costs, as a rule of thumb.
  std::vector<quota_units> costs_of_a_byte() const;
  /// What a request with this body allows its answer to cost, such as max_tokens. Never throws.
  std::vector<quota_units> reserved_by(std::string_view request_body) const;

 private:
  struct rules;
  explicit profile(std::shared_ptr<rules const>);
  std::shared_ptr<rules const> rules_;
};

}  // namespace headway::app
