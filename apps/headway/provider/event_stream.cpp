#include "provider/event_stream.hpp"

#include <simdjson.h>

#include <utility>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "provider/json_pointer.hpp"
#include "provider/rules.hpp"

namespace headway::app {
namespace {

namespace dom = simdjson::dom;

/// What comes before `end`, which is taken off as well; all where there is no `end`.
std::string_view take_until(std::string_view& rest, char end) {
  auto const at = rest.find(end);
  auto const taken = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  return taken;
}

/// Returns whether it is an object with a member `error` that says something.
bool is_error(std::string_view data) {
  if (data.size() > body_looked_at || !may_have(data, "/error")) return false;
  thread_local dom::parser parser;
  dom::element json, error;
  if (!parse_leniently(parser, data, leniency::all, json).empty() ||
      json.at_key("error").get(error) != simdjson::SUCCESS)
    return false;
  auto const text = text_of(error).value_or("");
  return !text.empty() && text != "false" && text != "0";
}

/// Appends a line, as far as it is looked at.
void add(std::string& text, std::string_view line) {
  if (text.size() <= body_looked_at) (text += line.substr(0, body_looked_at)) += '\n';
}

/// An event as its lines come.
struct event {
  bool named_error = false;
  std::string data{};
  std::string json{};  // over several lines that are no fields

  void take(std::string_view line) {
    if (line == "{" || !json.empty()) return add(json, line);
    auto value = line;
    auto const name = take_until(value, ':');
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "event") named_error = value == "error";
    if (name == "data") add(data, value);
  }
};

}  // namespace

std::optional<std::string> error_in_stream(std::string_view body) {
  std::optional<std::string> last;
  event now;
  while (!body.empty()) {
    auto line = take_until(body, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > 1 && line.starts_with('{') && is_error(line))
      last = line;
    else if (!line.empty())
      now.take(line);
    if (!line.empty() && !body.empty()) continue;
    if (!now.named_error && now.data.empty() && now.json.empty()) continue;
    if (!now.data.empty()) now.data.pop_back();
    if (now.named_error || is_error(now.data)) last = std::move(now.data);
    if (is_error(now.json)) last = std::move(now.json);
    now = {};
  }
  return last;
}

}  // namespace headway::app
