#include "watch/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

struct shape {
  std::string_view name;
  bool wants_value;
  bool of_scopes;  ///< one may be named
};
constexpr std::array<shape, 10> shapes = {{{"status", false, false},
                                           {"explain", true, false},
                                           {"pause", false, true},
                                           {"resume", false, true},
                                           {"stop", false, false},
                                           {"finish", false, false},
                                           {"rate", true, true},
                                           {"concurrency", true, true},
                                           {"leave", true, true},
                                           {"spend-max", true, false}}};

shape const& of(command::verb what) noexcept {
  return shapes[static_cast<std::size_t>(what)];
}

/// With all that it needs, and nothing else.
command checked(std::string_view verb, std::string scope, std::string value) {
  auto const found = std::ranges::find(shapes, verb, &shape::name);
  if (found == shapes.end()) {
    std::vector<std::string> names;
    for (auto const& s : shapes) names.emplace_back(s.name);
    throw std::invalid_argument(fmt::format("{} is not one of {}{}", in_quotes(verb),
                                            fmt::join(names, ", "), did_you_mean(verb, names)));
  }
  if (found->wants_value == value.empty())
    throw std::invalid_argument(
        fmt::format("{} wants {}", verb, value.empty() ? "a value" : "no value"));
  if (!scope.empty() && !found->of_scopes)
    throw std::invalid_argument(fmt::format("{} is for the whole run, not for a scope", verb));
  if (scope.find('\0') != scope.npos) throw std::invalid_argument("a scope has no NUL");
  command c{.what = static_cast<command::verb>(found - shapes.begin()),
            .scope = std::move(scope),
            .value = std::move(value)};
  if (c.what != command::verb::explain) return c;
  auto const* const end = c.value.data() + c.value.size();
  auto const [read, wrong] = std::from_chars(c.value.data(), end, c.line);
  if (wrong != std::errc{} || read != end || c.line < 1)
    throw std::invalid_argument(
        fmt::format("explain {}: want the number of a line, from 1", in_quotes(c.value)));
  return c;
}

}  // namespace

command command::parse(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::object o;
  if (parser.parse(json.data(), json.size()).get(o) != simdjson::SUCCESS)
    throw std::invalid_argument("want a JSON object, as {\"do\":\"pause\"}");
  std::string_view verb;
  std::string scope, value;
  for (auto const [key, v] : o) {
    std::string_view text;
    if (v.get(text) != simdjson::SUCCESS)
      throw std::invalid_argument(fmt::format("{} is not text", in_quotes(key)));
    if (key == "do")
      verb = text;
    else if (key == "scope")
      scope = text;
    else if (key == "value")
      value = text;
    else
      throw std::invalid_argument(fmt::format("{} is not one of do, scope, value", in_quotes(key)));
  }
  return checked(verb, std::move(scope), std::move(value));
}

command command::typed(std::string const* begin, std::string const* end) {
  std::string scope;
  if (begin != end && *begin == "scope") {
    if (end - begin >= 3) scope = in_utf8(begin[1]);
    if (scope.empty())
      throw std::invalid_argument("want scope PATTERN COMMAND, as scope 'api.example*' pause");
    begin += 2;
  }
  if (begin == end || end - begin > 2)
    throw std::invalid_argument("want one command, as rate 20/s");
  return checked(*begin, std::move(scope), end - begin == 2 ? in_utf8(begin[1]) : "");
}

std::string command::json() const {
  auto text = fmt::format(R"({{"do":"{}")", of(what).name);
  if (!scope.empty()) text += R"(,"scope":)" + json_string(scope);
  if (!value.empty()) text += R"(,"value":)" + json_string(value);
  return text + "}";
}

std::string command::words() const {
  return fmt::format("{}{}{}", scope.empty() ? "" : "scope " + printable(scope) + " ",
                     of(what).name, value.empty() ? "" : " " + printable(value));
}

}  // namespace headway::app
