/// The place of a program in a fleet, whatever keeps that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headway/export.hpp"
#include "headway/fleet/member.hpp"
#include "headway/law/any.hpp"
#include "headway/shared/pace.hpp"

namespace headway::fleet {

/// A fleet as one of its members knows it.
struct standing {
  int members = 0;        ///< of the scope, this one included
  int unheard = 0;        ///< that went silent lately: cut off, perhaps, and coasting
  double excess = 0;      ///< by so much of the limit these may exceed it
  double pace = 0;        ///< of all, units per second
  double share = 0;       ///< of that, this member's
  bool waits = false;     ///< it has heard of no state yet
  bool coasts = false;    ///< it paces by itself, since nothing is heard
  bool combines = false;  ///< it makes the states that the others hear of
  std::optional<time_point>
      away{};             ///< since then the database does not answer, by the caller's clock
  std::string trouble{};  ///< … and why
};

/// A pace that hosts share, and what is known of them.
class HEADWAY_EXPORT hosted_pace : public pace {
 public:
  ~hosted_pace() override;
  /// Returns what it knows of the fleet.
  virtual standing look() const = 0;
  /// Sets what this member's user allows, in place of what was set before.
  virtual void limit(ceilings const& with) = 0;
};

/// A host's place in a fleet. Threads: safe.
class HEADWAY_EXPORT place {
 public:
  place() = default;
  place(place const&) = delete;
  place& operator=(place const&) = delete;
  virtual ~place();

  /// Joins those that share `key`, which may name anything: a host, a credential. Only a salted
  /// digest of it leaves this process; `title` is what people are shown. A law that is no `seek` is
  /// none that hosts can share: null. It leaves when the pace is destroyed.
  virtual std::shared_ptr<hosted_pace> join(std::string_view key, std::string title,
                                            any_law const& begins, ceilings const& with) = 0;
};

}  // namespace headway::fleet
