#include "run/error_bodies.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "provider/too_many.hpp"

namespace headway::app {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t looked_at = 4096, told_of_a_text = 60;

bool is_plain(dom::element e) {
  return !e.is_object() && !e.is_array();
}

/// Returns how a member says that the body is an error; nothing: it does not.
std::optional<error_body> error_in(std::string_view key, dom::element value) {
  auto const at = [&](std::string_view contains) {
    return error_body{.pointer = fmt::format("/{}", key), .contains = std::string(contains)};
  };
  std::string_view text;
  dom::object object;
  dom::array array;
  bool yes = true;
  std::int64_t number = 0;
  if (key == "error" && value.get(object) == simdjson::SUCCESS && object.size() > 0) return at("{");
  if (key == "error" && value.get(text) == simdjson::SUCCESS && !text.empty())
    return at(text.substr(0, told_of_a_text));
  if (key == "errors" && value.get(array) == simdjson::SUCCESS && array.size() > 0) return at("{");
  if (key == "ok" && value.get(yes) == simdjson::SUCCESS && !yes) return at("false");
  if (key == "code" && value.get(number) == simdjson::SUCCESS && number >= 400 && number < 600)
    return at(std::to_string(number));
  return std::nullopt;
}

}  // namespace

std::optional<error_body> error_in(std::string_view body) {
  if (body.size() > looked_at || !trimmed(body, " \t\r\n").starts_with('{')) return std::nullopt;
  thread_local dom::parser parser;
  dom::object all;
  if (parser.parse(body.data(), body.size()).get(all) != simdjson::SUCCESS) return std::nullopt;
  std::optional<error_body> found;
  for (auto const [key, value] : all) {
    auto here = error_in(key, value);
    if (!here && !is_plain(value)) return std::nullopt;
    if (here && (!found || here->contains == "{")) found = std::move(here);
  }
  if (found) found->throttles = says_too_many(body);
  return found;
}

void error_bodies::succeeded(std::int64_t line, int status, std::string_view body) {
  if (status < 200 || status > 299) return;
  auto error = error_in(body);
  if (!error || many_++ > 0) return;
  first_line_ = line;
  first_ = std::move(*error);
}

std::string error_bodies::words() const {
  if (many_ == 0) return "";
  return fmt::format(
      "{} succeeded, but have an error as their body, as line {}; if that is a {}, put these "
      "lines into a file; --profile ./FILE with another --out and --journal sends all of JOBS "
      "again:\n"
      "  [[rule]]\n  status = [\"200-299\"]\n  pointer = {}\n  contains = [{}]\n"
      "  means = \"{}\"\n",
      many_, first_line_, first_.throttles ? "throttle" : "failure", json_string(first_.pointer),
      json_string(first_.contains), first_.throttles ? "rate" : "permanent");
}

}  // namespace headway::app
