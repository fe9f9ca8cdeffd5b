#include "run/suspected_throttles.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text.hpp"
#include "base/url.hpp"
#include "provider/too_many.hpp"

namespace headway::app {
namespace {

constexpr int told_from = 20;  // of each
constexpr std::size_t origins_max = 100;

/// A conflict (409) and a body that is too long (413) are about the request, though they may pass.
bool is_suspect(int status) {
  return may_pass(status) && status != 409 && status != 413;
}

}  // namespace

/// Null: there are too many.
suspected_throttles::counts* suspected_throttles::of(std::string_view origin) {
  auto found = origins_.find(origin);
  if (found == origins_.end()) {
    if (origins_.size() >= origins_max) return nullptr;
    found = origins_.emplace(origin, counts{}).first;
  }
  return &found->second;
}

void suspected_throttles::succeeded(std::string_view origin) {
  auto* const c = of(origin);
  if (c == nullptr) return;
  ++c->successes;
  for (auto& [status, r] : c->by_status) r.between += std::exchange(r.since, 0);
}

void suspected_throttles::refused(std::string_view origin, int status) {
  auto* const c = is_suspect(status) ? of(origin) : nullptr;
  if (c != nullptr && c->successes > 0) ++c->by_status[status].since;
}

std::string suspected_throttles::words() const {
  std::string text;
  for (auto const& [origin, c] : origins_)
    for (auto const& [status, r] : c.by_status)
      if (c.successes >= told_from && r.between >= told_from)
        text += fmt::format(
            "{0}: {1} times {2} came between successes; if that is how it throttles, put these "
            "three lines into a file, and add --profile ./FILE --again failed:\n"
            "  [[rule]]\n  status = [{2}]\n  means = \"rate\"\n",
            printable(short_name(origin)), r.between, status);
  return text;
}

}  // namespace headway::app
