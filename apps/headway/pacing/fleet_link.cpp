#include "pacing/fleet_link.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "base/words.hpp"

namespace headway::app {

fleet_link::fleet_link(
    std::string name,
    std::function<std::unique_ptr<fleet::place>(std::function<void()>)> const& join)
    : name_(std::move(name)),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"),
      place_(join([fd = event_.fd()] { ::eventfd_write(fd, 1); })) {}

void fleet_link::heard() noexcept {
  ::eventfd_t unused = 0;
  ::eventfd_read(event_.fd(), &unused);
}

std::string words_of(fleet::standing const& s, time_point now) {
  if (s.away)
    return fmt::format(
        "the database does not answer for {}, {}", in_words(now - *s.away),
        s.coasts ? fmt::format("on its own at {}", rate_in_words(s.share)) : "nothing goes");
  if (s.waits) return "joins";
  auto words =
      fmt::format("{} host{}, ~{}", s.members, s.members == 1 ? "" : "s", rate_in_words(s.pace));
  if (s.unheard > 0) words += fmt::format(", {} unheard: {}", s.unheard, excess_in_words(s.excess));
  return words;
}

std::string excess_in_words(double excess) {
  return fmt::format("at most {:.{}f} % more", 100 * excess, excess < 0.1 ? 1 : 0);
}

std::string why_in_fleet(fleet::standing const& s, time_point now, std::string held) {
  if (s.away && !s.coasts)
    return fmt::format("the fleet's database, away for {}", in_words(now - *s.away));
  if (s.waits) return "the fleet's first turn";
  if (s.members > 1)
    held += fmt::format(", shared with {} other host{}", s.members - 1, s.members > 2 ? "s" : "");
  return held;
}

}  // namespace headway::app
