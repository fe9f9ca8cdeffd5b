#include "run/forbidden.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/url.hpp"

namespace headway::app {
namespace {

constexpr int told_from = 20;  // of each
constexpr std::size_t origins_max = 100;

}  // namespace

/// Null: there are too many.
forbidden::counts* forbidden::of(std::string_view origin) {
  auto found = origins_.find(origin);
  if (found == origins_.end()) {
    if (origins_.size() >= origins_max) return nullptr;
    found = origins_.emplace(origin, counts{}).first;
  }
  return &found->second;
}

void forbidden::succeeded(std::string_view origin) {
  auto* const c = of(origin);
  if (c == nullptr) return;
  ++c->successes;
  c->between += c->since;
  c->since = 0;
}

void forbidden::refused(std::string_view origin, int status) {
  auto* const c = status == 403 ? of(origin) : nullptr;
  if (c != nullptr && c->successes > 0) ++c->since;
}

std::string forbidden::words() const {
  std::string text;
  for (auto const& [origin, c] : origins_)
    if (c.successes >= told_from && c.between >= told_from)
      text += fmt::format(
          "{0}: {1} times 403 came between successes; if that is how it throttles, put these three "
          "lines into a file, and add --profile ./FILE --again failed:\n"
          "  [[rule]]\n  status = [403]\n  means = \"rate\"\n",
          printable(short_name(origin)), c.between);
  return text;
}

}  // namespace headway::app
