#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t letters_max = 64;

/// Letters to insert, delete, replace or exchange with a neighbour (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const same = lower(a[i - 1]) == lower(b[j - 1]);
      next[j] = std::min({last[j] + 1, next[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, next);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::vector<std::string> const& known) {
  if (word.empty() || word.size() > letters_max) return "";
  std::string found;
  auto least = 1 + std::max<std::size_t>(1, word.size() / 3);  // one too many
  for (auto const& name : known)
    if (auto const d = distance(word, name); d < least) {
      least = d;
      found = name;
    }
  if (!found.empty() || word.size() < 2) return found;
  for (auto const& name : known)
    if (name.starts_with(word)) {
      if (!found.empty()) return "";
      found = name;
    }
  return found;
}

std::string did_you_mean(std::string_view word, std::vector<std::string> const& known) {
  auto const found = nearest(word, known);
  return found.empty() ? "" : "; did you mean " + in_quotes(found) + "?";
}

}  // namespace headway::app
