/// A profile: how one provider says "slow down", as data.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provider/judgement.hpp"
#include "provider/rules.hpp"

namespace headway::app {

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
  /// What the head of an answer says by itself, before its body has come; nullopt where the body
  /// may say otherwise. Of a stream of events the first event counts as its head.
  std::optional<judgement> judge_head(answer_view const&, std::chrono::sys_seconds now) const;

  /// What of the server's limits a request falls under, beside origin and credential: part of its
  /// path, its model; "" where all fall under the same. At most 200 bytes. Never throws.
  std::string partition_of(std::string_view url, std::string_view request_body) const;

  /// Whether such a request only computes, so that it may be repeated though it is a POST.
  bool computes(std::string_view method, std::string_view url) const noexcept;

  /// The answers to a request and to what the earlier one left undone of it, as one.
  std::string joined(std::string_view earlier, std::string_view later) const;

  /// What a byte of a request's body costs, as a rule of thumb.
  std::vector<quota_units> costs_of_a_byte() const;
  /// What a request with this body allows its answer to cost, such as max_tokens. Never throws.
  std::vector<quota_units> reserved_by(std::string_view request_body) const;

 private:
  explicit profile(std::shared_ptr<profile_rules const>);
  std::shared_ptr<profile_rules const> rules_;
};

}  // namespace headway::app
