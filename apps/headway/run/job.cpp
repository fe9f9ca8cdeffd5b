#include "run/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "command.hpp"
#include "run/headers.hpp"
#include "run/text.hpp"

namespace headway::app {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t cost_max = 1'000'000'000;
constexpr double timeout_min_s = 0.001;
constexpr double timeout_max_s = 86'400;
constexpr std::size_t text_bytes_max = 1024;
constexpr std::size_t headers_max = 100;

enum key : std::size_t {
  key_url,
  key_id,
  key_method,
  key_headers,
  key_body,
  key_body_file,
  key_cost,
  key_scope,
  key_timeout,
  key_idempotency_key,
  key_meta,
};
constexpr std::array<std::string_view, 11> key_names = {
    "url",  "id",    "method",  "headers",         "body", "body_file",
    "cost", "scope", "timeout", "idempotency_key", "meta"};

/// What is wrong with a line; who knows the file and the number puts them before it.
struct malformed {
  std::string why;
};

// These walk JSON text that has been found valid, from one position to another.

std::size_t skip_space(std::string_view json, std::size_t at) noexcept {
  return json.find_first_not_of(" \t\r\n", at);
}

std::size_t skip_string(std::string_view json, std::size_t at) noexcept {
  for (;;) {
    at = json.find('"', at + 1);
    auto const backslashes = at - json.find_last_not_of('\\', at - 1) - 1;
    if (backslashes % 2 == 0) return at + 1;
  }
}

std::size_t skip_value(std::string_view json, std::size_t at) noexcept {
  if (json[at] == '"') return skip_string(json, at);
  if (json[at] != '{' && json[at] != '[') return json.find_first_of(",}] \t\r\n", at);
  int depth = 0;
  do {
    char const c = json[at];
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    at = c == '"' ? skip_string(json, at) : at + 1;
  } while (depth > 0);
  return at;
}

/// The text of an object's value number `index`, without white space. Not printed from the parsed
/// value, which has lost the difference between 1.10 and 1.1.
std::string compact_value(std::string_view object, std::size_t index) {
  std::size_t before = 0;  // the brace or the comma before a key
  for (;; --index) {
    auto const colon = skip_space(object, skip_string(object, skip_space(object, before + 1)));
    auto const begin = skip_space(object, colon + 1);
    auto const end = skip_value(object, begin);
    if (index == 0) {
      std::string text(end - begin, '\0');
      std::size_t kept = 0;
      if (simdjson::minify(object.data() + begin, text.size(), text.data(), kept) !=
          simdjson::SUCCESS)
        throw malformed{"not valid JSON"};
      text.resize(kept);
      return text;
    }
    before = skip_space(object, end);
  }
}

std::string shown(dom::element value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return in_quotes(value.get_string().value_unsafe());
  return simdjson::to_string(value);
}

[[noreturn]] void refuse(key k, dom::element value, std::string_view wanted) {
  throw malformed{fmt::format("{} is {}; want {}", key_names[k], shown(value), wanted)};
}

std::string_view text_of(key k, dom::element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS || text.empty() || text.size() > text_bytes_max ||
      std::any_of(text.begin(), text.end(), is_control))
    refuse(k, value,
           fmt::format("a string of 1 to {} bytes without control characters", text_bytes_max));
  return text;
}

std::string id_of(dom::element value) {
  if (value.is_int64()) return std::to_string(value.get_int64().value_unsafe());
  if (value.is_uint64()) return std::to_string(value.get_uint64().value_unsafe());
  return std::string(text_of(key_id, value));
}

std::string method_of(dom::element value) {
  std::string method(text_of(key_method, value));
  for (char& c : method) c = upper(c);
  if (!header_problem(method, "").empty() || method == "CONNECT")
    refuse(key_method, value, "an HTTP method such as GET or POST");
  return method;
}

std::int64_t cost_of(dom::element value) {
  if (value.is_object())
    throw malformed{"cost is an object, but named quotas are not supported; want a whole number"};
  std::int64_t cost = 0;
  if (value.get(cost) != simdjson::SUCCESS || cost < 1 || cost > cost_max)
    refuse(key_cost, value, fmt::format("a whole number from 1 to {}", cost_max));
  return cost;
}

/// "30s" or "500ms" in seconds, 0 for anything else.
double seconds_of(std::string_view text) noexcept {
  double number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  std::string_view const unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return unit == "s" ? number : unit == "ms" ? number / 1000 : 0;
}

duration timeout_of(dom::element value) {
  double seconds = 0;
  if (value.is_string())
    seconds = seconds_of(value.get_string().value_unsafe());
  else if (value.is_number())
    seconds = value.get_double().value_unsafe();
  if (!(seconds >= timeout_min_s && seconds <= timeout_max_s))
    refuse(key_timeout, value,
           fmt::format("{} to {} seconds, as a number or as \"30s\" or \"500ms\"", timeout_min_s,
                       timeout_max_s));
  return from_seconds(seconds);
}

std::filesystem::path body_file_of(dom::element value, std::filesystem::path const& folder) {
  auto const path = std::filesystem::path(text_of(key_body_file, value)).lexically_normal();
  if (path.is_absolute() || *path.begin() == "..")
    refuse(key_body_file, value, "a path below the folder of the file of requests");
  auto full = folder / path;
  std::error_code error;
  if (!std::filesystem::is_regular_file(full, error) || access(full.c_str(), R_OK) != 0)
    refuse(key_body_file, value, "a file that can be read");
  return full;
}

void read_headers(dom::element value, job& j) {
  dom::object headers;
  if (value.get(headers) != simdjson::SUCCESS || headers.size() > headers_max)
    refuse(key_headers, value,
           fmt::format("an object of at most {} \"Name\": \"value\"", headers_max));
  std::vector<std::string_view> names;
  for (auto const [name, content] : headers) {
    std::string_view text;
    if (content.get(text) != simdjson::SUCCESS)
      throw malformed{fmt::format("header {} is not a string", in_quotes(name))};
    if (auto const problem = header_problem(name, text); !problem.empty())
      throw malformed{fmt::format("header {} {}", in_quotes(name), problem)};
    for (auto const earlier : names)
      if (equal_ignoring_case(earlier, name))
        throw malformed{fmt::format("header {} is given twice", in_quotes(name))};
    names.push_back(name);
    if (!equal_ignoring_case(name, "Idempotency-Key"))
      j.headers.push_back(fmt::format("{}: {}", name, text));
    else if (j.idempotency_key.empty())
      j.idempotency_key = text;
    else
      throw malformed{"idempotency_key is also given as a header; want one of them"};
  }
}

}  // namespace

bool idempotent(job const& j) noexcept {
  constexpr std::array<std::string_view, 6> safe_to_repeat = {"GET",    "HEAD",    "PUT",
                                                              "DELETE", "OPTIONS", "TRACE"};
  return !j.idempotency_key.empty() ||
         std::find(safe_to_repeat.begin(), safe_to_repeat.end(), j.method) != safe_to_repeat.end();
}

job_parser::job_parser(line_options options)
    : options_(std::move(options)), json_(std::make_unique<dom::parser>()) {
  auto& base = options_.base_url;
  if (base.empty()) return;
  if (auto const problem = url_problem(base); !problem.empty())
    throw fatal(exit_usage, "--base-url: " + problem);
  if (base.find_first_of("?#") != base.npos)
    throw fatal(exit_usage, "--base-url: want no ? and no #, as paths are put behind it");
  while (base.ends_with('/')) base.pop_back();
}

job_parser::job_parser(job_parser&&) noexcept = default;
job_parser& job_parser::operator=(job_parser&&) noexcept = default;
job_parser::~job_parser() = default;

std::optional<job> job_parser::parse(std::string_view text, std::int64_t line) {
  try {
    if (text.size() > line_bytes_max)
      throw malformed{
          fmt::format("the line has {} bytes; want at most {}", text.size(), line_bytes_max)};
    if (line == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    text = trimmed(text);
    if (text.empty() || text.front() == '#') return std::nullopt;

    job j;
    if (text.front() == '{')
      j = read_json(text);
    else
      j.url = text;
    j.line = line;
    if (j.id.empty()) j.id = std::to_string(line);
    j.url = absolute_url(j.url, options_.base_url);
    if (auto const problem = url_problem(j.url); !problem.empty()) throw malformed{problem};
    return j;
  } catch (malformed const& wrong) {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", options_.file, line, wrong.why));
  }
}

job job_parser::read_json(std::string_view text) {
  if (text.size() > json_->capacity()) {
    if (auto const error = json_->allocate(std::bit_ceil(text.size())))
      throw malformed{simdjson::error_message(error)};
  }
  dom::object object;
  if (auto const error = json_->parse(text.data(), text.size()).get(object))
    throw malformed{fmt::format("not valid JSON: {}", simdjson::error_message(error))};

  job j;
  unsigned seen = 0;
  std::size_t index = 0;
  for (auto const [name, value] : object) {
    auto const k =
        static_cast<key>(std::find(key_names.begin(), key_names.end(), name) - key_names.begin());
    if (k == key_names.size())
      throw malformed{
          fmt::format("unknown key {}; known: {}", in_quotes(name), fmt::join(key_names, ", "))};
    if (seen & (1U << k)) throw malformed{fmt::format("key {} is given twice", in_quotes(name))};
    seen |= 1U << k;
    switch (k) {
      case key_url:
        if (!value.is_string()) refuse(k, value, "a string");
        j.url = value.get_string().value_unsafe();
        break;
      case key_id:
        j.id = id_of(value);
        break;
      case key_method:
        j.method = method_of(value);
        break;
      case key_headers:
        read_headers(value, j);
        break;
      case key_body:
        j.json_body = !value.is_string();
        if (j.json_body && !value.is_object() && !value.is_array())
          refuse(k, value, "a string, an object or an array");
        j.body = j.json_body ? compact_value(text, index)
                             : std::string(value.get_string().value_unsafe());
        break;
      case key_body_file:
        j.body_file = body_file_of(value, options_.folder);
        break;
      case key_cost:
        j.cost = cost_of(value);
        break;
      case key_scope:
        j.scope = text_of(k, value);
        break;
      case key_timeout:
        j.timeout = timeout_of(value);
        break;
      case key_idempotency_key:
        if (!j.idempotency_key.empty())
          throw malformed{"idempotency_key is also given as a header; want one of them"};
        j.idempotency_key = text_of(k, value);
        break;
      case key_meta:
        j.meta = compact_value(text, index);
        break;
    }
    ++index;
  }
  if (!(seen & (1U << key_url))) throw malformed{"url is missing"};
  if (j.body && j.body_file) throw malformed{"body and body_file are both given; want one of them"};
  if ((j.body || j.body_file) && !(seen & (1U << key_method))) j.method = "POST";
  return j;
}

}  // namespace headway::app
