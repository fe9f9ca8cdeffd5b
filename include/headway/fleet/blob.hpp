/// The words of a fleet as bytes: what a board keeps and sends.
///
/// Each blob begins with its kind and the version of that kind. One of another kind or version, of
/// another length than it says, or with a value out of its range is none: it is never misread. What
/// was read gives the same bytes again. Numbers are LEB128, times and counts as differences, so
/// that a blob is small and the same on each machine. Source: DWARF 5, 7.6 (LEB128).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headway/export.hpp"
#include "headway/fleet/combine.hpp"
#include "headway/fleet/report.hpp"

namespace headway::fleet {

static constexpr std::size_t members_max = 100'000;       ///< of a fleet
static constexpr std::size_t report_bytes_max = 2 << 20;  ///< of a report's blob
static constexpr std::size_t state_bytes_max = 16 << 20;  ///< of a state's

/// Returns a report as bytes, at most `report_bytes_max`.
HEADWAY_EXPORT std::string to_blob(report const& r);
/// Returns a state as bytes. Only builds of the same law can read it.
HEADWAY_EXPORT std::string to_blob(state const& s);
/// Returns the part of a grant that all members hear alike.
HEADWAY_EXPORT std::string common_blob(grant const& g);
/// Returns the part of a grant that is one member's own: small, and mostly what it was.
HEADWAY_EXPORT std::string own_blob(grant const& g);

/// Returns the report, or nothing where this is none of our version.
HEADWAY_EXPORT std::optional<report> read_report(std::string_view blob);
/// Returns the state, or nothing where this is none of our law.
HEADWAY_EXPORT std::optional<state> read_state(std::string_view blob);
/// Returns the grant, or nothing where one of the parts is none of our version. A member without an
/// own part has none, or an empty one.
HEADWAY_EXPORT std::optional<grant> read_grant(std::string_view common, std::string_view own);

}  // namespace headway::fleet
