#include "run/error_bodies.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/text.hpp"

namespace headway::app {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t looked_at = 4096;

bool is_plain(dom::element e) {
  return !e.is_object() && !e.is_array();
}

}  // namespace

bool is_error_body(std::string_view body) {
  if (body.size() > looked_at || !trimmed(body, " \t\r\n").starts_with('{') ||
      body.find("\"error\"") == body.npos)
    return false;
  thread_local dom::parser parser;
  dom::object all;
  if (parser.parse(body.data(), body.size()).get(all) != simdjson::SUCCESS) return false;
  bool found = false;
  for (auto const [key, value] : all) {
    if (dom::object error; key == "error" && value.get(error) == simdjson::SUCCESS)
      found = error.size() > 0;
    else if (!is_plain(value))
      return false;
  }
  return found;
}

void error_bodies::succeeded(std::int64_t line, int status, std::string_view body) {
  if (status < 200 || status > 299 || !is_error_body(body)) return;
  if (many_++ == 0) first_ = line;
}

std::string error_bodies::words() const {
  if (many_ == 0) return "";
  return fmt::format(
      "{} succeeded, but have an error as their body, as line {}; if that is a failure, put these "
      "lines into a file; --profile ./FILE with another --out and --journal sends all of JOBS "
      "again:\n"
      "  [[rule]]\n  status = [\"200-299\"]\n  pointer = \"/error\"\n  contains = [\"{{\"]\n"
      "  means = \"permanent\"\n",
      many_, first_);
}

}  // namespace headway::app
