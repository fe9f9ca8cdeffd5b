/// The laws that --law names: what each of them can be asked, whichever it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/law/shipped.hpp"
#include "pacing/throughput.hpp"
#include "pacing/told_window.hpp"

namespace headway::app {

std::vector<std::string> names_of_laws();
/// "seek, reno, …"
std::string law_names();

/// The law that a text names, as parse_law() reads it. Errors: fatal(exit_usage) that lists the
/// names, or says which setting is wrong.
shipped_law law_named(std::string_view text);

/// What a law would tell the next run; nothing where it keeps nothing, or has met no limit for
/// sure.
std::optional<learned> knowledge_of(any_law const&);
/// Begins with what a run has learned `age` ago; nothing happens where the law keeps nothing.
void remember(any_law&, learned const&, duration age);

/// The share of the limit that a law leaves to others; nothing where it cannot.
std::optional<double> leave_of(any_law const&);
/// False where it cannot.
bool leave(any_law&, double share);

/// How a law sends: units per second and permits. Infinite: it sets none.
struct speeds {
  double rate = 0, slots = 0;
};
speeds speeds_of(any_law const&) noexcept;

/// Returns how often refusals made a law that learns send less; 0 for another.
std::uint64_t cuts_of(any_law const&) noexcept;

/// What is known of a limit beside its law.
struct beside_law {
  bool quotas_bind = false;   ///< that no limit was met says nothing, since quotas are known
  std::optional<gcra> own{};  ///< the caller's ceiling, beyond which none could be met
  told_window window{};       ///< that the server tells of: what is met within one is no limit
  throughput through{};       ///< what its refusals show, and was kept up
  bool knew = false;          ///< its law began with what an earlier run had learned
  bool shared = false;        ///< others have a part of it
};

/// What a law has found out, in words: "a limit of about 48.5/s"; "" where there is nothing to
/// tell.
std::string findings(any_law const&, beside_law const& = {});

}  // namespace headway::app
