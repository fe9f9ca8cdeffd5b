/// Descendants: all processes that a command has started, in whatever session they hide.
#pragma once

#include <sys/types.h>

#include <span>

namespace headway::app {

/// Takes in those whose parent ends before they do, from now on.
void become_subreaper() noexcept;
/// Returns whether descendants that leave their process group can be found here.
bool finds_descendants() noexcept;
/// Kills and waits for all descendants of ours but those that are `spared`, which are children, and
/// those of another user.
void end_descendants(std::span<pid_t const> spared = {}) noexcept;
/// Returns how many threads of descendants of these want a processor now, counted up to `enough`.
/// Of these one that has no child counts itself: it is about to start one.
int hungry_descendants(std::span<pid_t const> of, int enough);

}  // namespace headway::app
