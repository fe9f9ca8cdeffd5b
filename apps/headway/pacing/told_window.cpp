#include "pacing/told_window.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.hpp"

namespace headway::app {

void told_window::look(std::span<http::quota const> told) {
  for (auto const& q : told) {
    if (!q.of_requests() || q.limit < 1 || !q.remaining || !q.reset) continue;
    auto k = std::ranges::find(known_, q.name, &known::name);
    if (k == known_.end()) {
      if (known_.size() >= names_max) continue;
      k = known_.insert(k, {.name = q.name});
    }
    k->limit = *q.limit;
    if (*q.remaining < 1) {
      k->left = k->spent ? std::min(k->left, *q.reset) : *q.reset;
      k->spent = true;
    } else if (k->spent && *q.reset > k->left) {
      k->length = std::max(k->length, q.window.value_or(*q.reset));
    }
  }
}

bool told_window::spent() const noexcept {
  return std::ranges::any_of(known_, &known::spent);
}

std::string told_window::words() const {
  std::string text;
  for (auto const& k : known_)
    if (k.length > duration::zero())
      text += fmt::format("{}{:.0f} in {}", text.empty() ? "" : ", ", k.limit, in_words(k.length));
  return text;
}

}  // namespace headway::app
