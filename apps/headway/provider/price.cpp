#include "provider/price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace headway::app {
namespace {

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

[[noreturn]] void wrong(std::string_view text) {
  throw std::invalid_argument(fmt::format(
      "'{}' is not NAME=PRICE, such as input=0.15/M (for a million), 2/k or 0.01", text));
}

}  // namespace

double parse_price_of_one(std::string_view text) {
  double value = 0;
  auto const* const last = text.data() + text.size();
  auto const [end, error] = std::from_chars(text.data(), last, value);
  auto const per = std::string_view(end, static_cast<std::size_t>(last - end));
  auto const count = per.empty() ? 1.0 : per == "/k" ? 1e3 : per == "/M" ? 1e6 : 0.0;
  if (error != std::errc{} || count == 0 || !(value >= 0 && value <= 1e9)) wrong(text);
  return value / count;
}

price parse_price(std::string_view text) {
  price read{.name = "usd", .parts = {}};
  if (auto const colon = text.find(':'); colon != text.npos) {
    read.name = text.substr(0, colon);
    if (!is_name(read.name)) wrong(text);
    text.remove_prefix(colon + 1);
  }
  for (bool more = true; more;) {
    auto const comma = text.find(',');
    auto const part = text.substr(0, comma);
    auto const equals = part.find('=');
    if (equals == part.npos || !is_name(part.substr(0, equals))) wrong(part);
    read.parts.emplace_back(part.substr(0, equals), parse_price_of_one(part.substr(equals + 1)));
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return read;
}

void add_price(std::vector<settled_cost>& told, price const& p) {
  std::optional<double> sum;
  for (auto const& [name, of_one] : p.parts) {
    auto const part = std::ranges::find(told, name, &settled_cost::quota);
    if (part != told.end()) sum = sum.value_or(0) + of_one * part->units;
  }
  if (sum) told.push_back({.quota = p.name, .units = *sum, .of_size = std::nullopt});
}

}  // namespace headway::app
