#include "run/estimate.hpp"

#include <fmt/format.h>

#include <sstream>

#include "base/words.hpp"

namespace headway::app {
namespace {

constexpr double enough = 100;  // requests, by which a law has found its pace

}  // namespace

tempo tempo::parse(std::string_view note) {
  tempo read;
  std::istringstream in{std::string(note)};
  in >> read.requests >> read.seconds;
  return in ? read : tempo{};
}

std::string tempo::note() const {
  return fmt::format("{} {}", requests, seconds);
}

void tempo::add(std::int64_t ended, duration took) noexcept {
  if (ended < 2 || took <= duration(0)) return;  // the first one began it
  requests += static_cast<double>(ended - 1);
  seconds += to_seconds(took);
}

std::string estimate_of(std::int64_t left, spending const& spent, tempo const& so_far) {
  auto text = fmt::format("{} left", left);
  auto const n = static_cast<double>(left);
  std::string more;
  for (auto const& [name, s] : spent.all())
    if (s.answers > 0) more += fmt::format(", {} {}", in_units(n * s.average()), name);
  if (so_far.requests > 0)
    more += ", " + in_words(from_seconds(n * so_far.seconds / so_far.requests));
  if (more.empty()) return text + "; --only 10 tells what they cost and how long they take";
  auto const guess = so_far.requests > 0 && so_far.requests < enough;
  return text + ": about" + more.substr(1) + ", as those before them" +
         (guess ? "; so few say little of the time" : "");
}

}  // namespace headway::app
