/// One limit for all processes of a user on this machine.
#pragma once

#include <string>
#include <string_view>

#include "headway/export.hpp"
#include "headway/governor.hpp"
#include "headway/law/any.hpp"
#include "headway/shared/paged_pace.hpp"

namespace headway {

/// A pace on a page that is a small mapped file.
///
/// A member that acts writes the value to a page of its own and makes that the valid one by a
/// compare-and-swap: lock-free, and a process that dies at any instant leaves either all of its act
/// or nothing. That a process lives is a lock on one byte of the file, which the kernel takes back
/// when it dies; what it had out is then no longer counted. The last to leave removes the file,
/// which is named by the layout of the value, the version, the boot and the time namespace: another
/// version has another file.
///
/// machine_governor is this for the drivers. Threads: one at a time for each object, and none in it
/// while another forks; objects and processes in any number up to members_max. Linux only.
/// Source: M. Herlihy, "A methodology for implementing highly concurrent data objects" (1993), the
/// protocol for small objects.
class HEADWAY_EXPORT machine_pace : public paged_pace {
 public:
  static constexpr int members_max = common_pace::members_max;  ///< processes that share one pace

  /// Joins those of this user who call `key`, whatever that names: a host, a credential. Made where
  /// it is missing: `folder`, of mode 0700, but not its parents.
  ///
  /// Throws std::system_error where the system does not let us (no such parent, read-only, full),
  /// and another std::runtime_error where what is there is not this user's own, is no such file, or
  /// has members_max members. Nothing is changed then, and the caller may go on alone. What others
  /// were told to wait beyond `patience` is not believed.
  machine_pace(std::string const& folder, std::string_view key, any_law const& begins,
               duration patience = governor_settings().hint_max);
  /// Joins nobody: the same for one who is alone.
  explicit machine_pace(any_law const& begins) noexcept;

  /// A folder in XDG_RUNTIME_DIR, else in /run/user/UID, each if it is this user's own, else in
  /// TMPDIR or /tmp. Not while another thread changes the environment.
  static std::string default_folder();
};

}  // namespace headway
