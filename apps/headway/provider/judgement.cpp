#include "provider/judgement.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace headway::app {

namespace {

constexpr std::array<std::pair<std::string_view, reaction>, 9> reactions = {{
    {"served", reaction::served},
    {"rate", reaction::rate},
    {"concurrency", reaction::concurrency},
    {"quota", reaction::quota},
    {"long-quota", reaction::long_quota},
    {"money", reaction::money},
    {"refused", reaction::refused},
    {"transient", reaction::transient},
    {"permanent", reaction::permanent},
}};

}  // namespace

std::string_view to_string(reaction r) noexcept {
  return reactions[static_cast<std::size_t>(r)].first;
}

std::optional<reaction> reaction_named(std::string_view name) noexcept {
  auto const found =
      std::ranges::find(reactions, name, [](auto const& pair) { return pair.first; });
  if (found == reactions.end()) return std::nullopt;
  return found->second;
}

std::string reaction_names() {
  std::string all;
  for (auto const& pair : reactions) all.append(all.empty() ? "" : ", ").append(pair.first);
  return all;
}

std::string judgement::words() const {
  return code + (code.empty() || message.empty() ? "" : ": ") + message;
}

}  // namespace headway::app
