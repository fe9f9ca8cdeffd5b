#include "provider/json_pointer.hpp"

#include <algorithm>

namespace headway::app {

namespace dom = simdjson::dom;

constexpr std::size_t found_max = 100'000;  // values that a pointer reaches

std::optional<std::string> text_of(dom::element e) {
  if (std::string_view text; e.get(text) == simdjson::SUCCESS) return std::string(text);
  if (e.is_null()) return std::nullopt;
  if (dom::array a; e.get(a) == simdjson::SUCCESS && a.size() == 0) return std::nullopt;
  if (dom::object o; e.get(o) == simdjson::SUCCESS && o.size() == 0) return std::nullopt;
  return simdjson::minify(e);
}

void reach(dom::element from, std::string_view pointer, std::vector<dom::element>& found) {
  if (found.size() >= found_max) return;
  auto const star = pointer.find("/*");
  if (star == pointer.npos) {
    dom::element e;
    if (pointer.empty())
      found.push_back(from);
    else if (from.at_pointer(pointer).get(e) == simdjson::SUCCESS)
      found.push_back(e);
    return;
  }
  dom::element container = from;
  if (star > 0 && from.at_pointer(pointer.substr(0, star)).get(container) != simdjson::SUCCESS)
    return;
  auto const rest = pointer.substr(star + 2);
  if (dom::array a; container.get(a) == simdjson::SUCCESS) {
    for (auto const e : a) reach(e, rest, found);
  } else if (dom::object o; container.get(o) == simdjson::SUCCESS) {
    for (auto const member : o) reach(member.value, rest, found);
  }
}

bool may_have(std::string_view json, std::string_view pointer) {
  auto const name = pointer.substr(1, std::min(pointer.find('/', 1), pointer.size()) - 1);
  return json.find(name) != json.npos;
}

std::optional<double> sum_of(dom::element json, std::vector<std::string> const& pointers) {
  std::optional<double> sum;
  for (auto const& p : pointers) {
    std::vector<dom::element> found;
    reach(json, p, found);
    for (auto const e : found)
      if (double n = 0; e.get(n) == simdjson::SUCCESS && n >= 0 && n < 1e12)
        sum = sum.value_or(0) + n;
  }
  return sum;
}

}  // namespace headway::app
