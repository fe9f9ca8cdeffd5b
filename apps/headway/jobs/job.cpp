#include "jobs/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "base/base64.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "client/headers.hpp"
#include "jobs/labels.hpp"
#include "jobs/mistaken.hpp"
#include "jobs/record.hpp"
#include "jobs/template.hpp"

namespace headway::app {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t cost_max = 1'000'000'000;
constexpr double timeout_min_s = 0.001;
constexpr double timeout_max_s = 86'400;
constexpr std::size_t text_bytes_max = 1024;
constexpr std::size_t headers_max = 100;
constexpr std::size_t quotas_max = 16;

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
  key_custom_id,  // of OpenAI's Batch API
  key_header,     // of vegeta
};
constexpr std::array<std::string_view, 13> key_names = {
    "url",   "id",      "method",          "headers", "body",      "body_file", "cost",
    "scope", "timeout", "idempotency_key", "meta",    "custom_id", "header"};

/// What is wrong with a line; the caller adds file and number.
struct malformed {
  std::string why;
};

std::string shown(dom::element value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return in_quotes(value.get_string().value_unsafe());
  return simdjson::to_string(value);
}

[[noreturn]] void refuse(key k, dom::element value, std::string_view wanted) {
  throw malformed{fmt::format("{} is {}; want {}", key_names[k], shown(value), wanted)};
}

bool fits(std::string_view text) noexcept {
  return !text.empty() && text.size() <= text_bytes_max &&
         std::none_of(text.begin(), text.end(), is_control);
}

std::string wanted_text() {
  return fmt::format("a string of 1 to {} bytes without control characters", text_bytes_max);
}

std::string_view text_of(key k, dom::element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS || !fits(text)) refuse(k, value, wanted_text());
  return text;
}

std::string id_of(key k, dom::element value) {
  if (value.is_int64()) return std::to_string(value.get_int64().value_unsafe());
  if (value.is_uint64()) return std::to_string(value.get_uint64().value_unsafe());
  return std::string(text_of(k, value));
}

std::string id_of(field_value const& field) {
  auto const& text = field.text;
  auto const digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  auto const whole = std::all_of(digits.begin(), digits.end(), is_digit);
  if (fits(text) && (!field.is_json || whole)) return text;
  auto const bare = field.is_json && text.size() <= 20;  // a number, true, false, null
  throw malformed{fmt::format("id is {}; want {}", bare ? text : in_quotes(text), wanted_text())};
}

constexpr std::string_view wanted_method = "an HTTP method such as GET or POST";

/// In upper case; "" if it is none.
std::string method_named(std::string_view name) {
  std::string method(name);
  for (char& c : method) c = upper(c);
  return header_problem(method, "").empty() && method != "CONNECT" ? method : "";
}

std::string method_of(dom::element value) {
  auto method = method_named(text_of(key_method, value));
  if (method.empty()) refuse(key_method, value, wanted_method);
  return method;
}

std::int64_t cost_of(dom::element value) {
  std::int64_t cost = 0;
  if (value.get(cost) != simdjson::SUCCESS || cost < 1 || cost > cost_max)
    refuse(key_cost, value, fmt::format("a whole number from 1 to {}", cost_max));
  return cost;
}

/// Of named quotas: {"tokens": 350}.
std::vector<quota_units> costs_of(dom::element value) {
  dom::object object;
  std::vector<quota_units> costs;
  if (value.get(object) == simdjson::SUCCESS)
    for (auto const [name, units] : object) {
      std::int64_t n = 0;
      if (!fits(name) || units.get(n) != simdjson::SUCCESS || n < 1 || n > cost_max) {
        costs.clear();
        break;
      }
      costs.push_back({std::string(name), static_cast<double>(n)});
    }
  if (costs.empty() || costs.size() > quotas_max)
    throw malformed{
        fmt::format("cost is not an object of 1 to {} \"quota\": whole number from 1 "
                    "to {}, such as {{\"tokens\": 350}}",
                    quotas_max, cost_max)};
  return costs;
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

std::filesystem::path body_file_of(dom::element value, line_options const& options) {
  auto const path = std::filesystem::path(text_of(key_body_file, value)).lexically_normal();
  if (path.is_absolute() || *path.begin() == "..")
    refuse(key_body_file, value, "a path below the folder of the file of requests");
  auto full = options.folder / path;
  std::error_code error;
  if (!std::filesystem::is_regular_file(full, error) || access(full.c_str(), R_OK) != 0)
    refuse(key_body_file, value, "a file that can be read");
  if (auto const option = options.written_by ? options.written_by(full) : ""; !option.empty())
    refuse(key_body_file, value, fmt::format("a file that {} does not write", option));
  return full;
}

void add_header(std::string_view name, dom::element value, job& j) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS)
    throw malformed{fmt::format("header {} is not a string", in_quotes(name))};
  if (auto const problem = header_problem(name, text); !problem.empty())
    throw malformed{fmt::format("header {} {}", in_quotes(name), problem)};
  if (!equal_ignoring_case(name, "Idempotency-Key"))
    j.headers.push_back(fmt::format("{}: {}", name, text));
  else if (j.idempotency_key.empty())
    j.idempotency_key = text;
  else
    throw malformed{"idempotency_key is also given as a header; want one of them"};
}

/// k: key_headers, or key_header, where each name has an array of values.
void read_headers(key k, dom::element value, job& j) {
  auto const lists = k == key_header;
  dom::object headers;
  if (value.get(headers) != simdjson::SUCCESS || headers.size() > headers_max)
    refuse(k, value,
           fmt::format("an object of at most {} {}", headers_max,
                       lists ? "\"Name\": [\"value\"] as vegeta has it" : "\"Name\": \"value\""));
  std::vector<std::string_view> names;
  for (auto const [name, content] : headers) {
    for (auto const earlier : names)
      if (equal_ignoring_case(earlier, name))
        throw malformed{fmt::format("header {} is given twice", in_quotes(name))};
    names.push_back(name);
    if (!lists) {
      add_header(name, content, j);
      continue;
    }
    dom::array values;
    if (content.get(values) != simdjson::SUCCESS || values.size() > headers_max)
      throw malformed{fmt::format(
          "header {} is not an array of at most {} values as vegeta has it; with one value each "
          "the key is headers",
          in_quotes(name), headers_max)};
    for (auto const one : values) add_header(name, one, j);
  }
}

/// The body of a target of vegeta, whose text `j` has so far.
void decode_body(job& j) {
  if (!j.body) return;
  auto bytes = j.json_body ? std::nullopt : base64_decoded(*j.body);
  if (!bytes) throw malformed{"body is not base64, which it is in a target of vegeta"};
  j.body = std::move(bytes);
}

/// A line that is itself the body, but for its `metadata`.
job read_body(dom::object object, std::string_view text) {
  job j;
  j.json_body = true;
  std::string body = "{";
  auto const members = members_of(text);
  std::size_t index = 0;
  for (auto const [name, value] : object) {
    auto const& member = members[index++];
    if (name != "metadata") {
      if (body.size() > 1) body += ',';
      body += member.whole;
    } else if (j.meta.empty()) {
      j.meta = compact(member.value);
    } else {
      throw malformed{"key \"metadata\" is given twice"};
    }
  }
  j.body = compact(body + '}');
  return j;
}

}  // namespace

bool idempotent(job const& j) noexcept {
  constexpr std::array<std::string_view, 6> safe_to_repeat = {"GET",    "HEAD",    "PUT",
                                                              "DELETE", "OPTIONS", "TRACE"};
  return j.computes || !j.idempotency_key.empty() ||
         std::find(safe_to_repeat.begin(), safe_to_repeat.end(), j.method) != safe_to_repeat.end();
}

std::string fingerprint(line_options const& o) {
  auto const vegeta = o.format == line_format::vegeta;
  if (o.url.empty() && !vegeta) return {};
  auto const body = o.body ? fmt::format("{} {}", o.body->size(), *o.body) : std::string("-");
  return fmt::format("{} {} {} {} {}", vegeta ? "vegeta" : "-", o.url.size(), o.url, o.method,
                     body);
}

namespace {

/// Why no request can go to `url`, which is behind `base` if that is given; "" if one can.
std::string problem_of(std::string const& url, std::string_view base) {
  auto problem = destination_of(url).problem;
  if (!problem.empty() && base.empty() && url.find("://") == url.npos)
    problem += ", or a path with --base-url";
  return problem;
}

}  // namespace

job_parser::job_parser(line_options options)
    : options_(std::move(options)),
      json_(std::make_unique<dom::parser>()),
      labels_(std::make_unique<labels>(options_)) {
  auto& base = options_.base_url;
  if (!base.empty()) {
    if (auto const problem = destination_of(base).problem; !problem.empty())
      throw fatal(exit_usage, "--base-url: " + problem);
    if (base.find_first_of("?#") != base.npos)
      throw fatal(exit_usage, "--base-url: want no ? and no #, as paths are put behind it");
    while (base.ends_with('/')) base.pop_back();
  }
  check_template();
}

job_parser::job_parser(job_parser&&) noexcept = default;
job_parser& job_parser::operator=(job_parser&&) noexcept = default;
job_parser::~job_parser() = default;

void job_parser::check_template() {
  auto& url = options_.url;
  auto& method = options_.method;
  auto const& base = options_.base_url;
  auto const& body = options_.body;
  if (url.empty()) {
    if (body || !method.empty())
      throw fatal(exit_usage, "--body and --method are for lines that go to --url; want that too");
    return;
  }
  if (options_.format == line_format::vegeta)
    throw fatal(exit_usage, "--format vegeta is for lines with a url; want no --url");
  if (!method.empty()) {
    auto const name = method_named(method);
    if (name.empty())
      throw fatal(exit_usage,
                  fmt::format("--method is {}; want {}", in_quotes(method), wanted_method));
    method = name;
  }
  auto const read = [](std::string_view option, std::string_view of_url,
                       std::optional<std::string_view> of_body) {
    try {
      return request_template(of_url, of_body);
    } catch (std::invalid_argument const& wrong) {
      throw fatal(exit_usage, fmt::format("{}: {}", option, wrong.what()));
    }
  };
  auto const url_alone = read("--url", url, std::nullopt);
  if (url_alone.fields().empty())
    if (auto const problem = problem_of(escaped(absolute_url(url, base)), base); !problem.empty())
      throw fatal(exit_usage, "--url: " + problem);
  if (!body && url_alone.fields().empty()) return;
  template_ = std::make_unique<request_template>(read("--body", url, body));
  records_ = std::make_unique<record_reader>(template_->fields(),
                                             options_.keeps_record || !labels_->empty());
}

std::optional<job> job_parser::parse(std::string_view text, std::int64_t line) {
  if (!records_ || !records_->open()) first_line_ = line;
  std::optional<job> j;
  try {
    if (text.size() > line_bytes_max)
      throw malformed{
          fmt::format("the line has {} bytes; want at most {}", text.size(), line_bytes_max)};
    if (line == 1) text = without_mark(text);
    if (line == 1)
      if (auto const other = mistaken_for(text, options_.file); !other.empty())
        throw malformed{other};

    if (records_) {
      j = read_record(text);
    } else {
      text = trimmed(text);
      if (!text.empty() && text.front() != '#') read_line(text, j.emplace());
    }
    if (!j) return j;
    j->line = first_line_;
    if (j->id.empty()) j->id = std::to_string(first_line_);
    if (!options_.base_url.empty()) j->url = absolute_url(j->url, options_.base_url);
    j->url = escaped(std::move(j->url));
    auto to = destination_of(j->url);
    if (!to.problem.empty()) throw malformed{problem_of(j->url, options_.base_url)};
    j->origin = std::move(to.origin);
    j->computes = !idempotent(*j) && options_.computes && options_.computes(*j);
    if (!labels_->empty()) label(*j);
    if (options_.keeps_record && records_) j->record = std::move(fields_);
  } catch (malformed const& wrong) {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", options_.file, first_line_, wrong.why));
  } catch (std::invalid_argument const& wrong) {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", options_.file, first_line_, wrong.what()));
  }
  return j;
}

void job_parser::label(job& j) {
  auto const what = has_header() ? "column" : "key";
  if (fields_.empty()) fields_.push_back({"url", {j.url}});
  if (auto const id = labels_->id_of(fields_, j.line, what)) j.id = id_of(*id);
  labels_->put_on(j, fields_, what);
}

bool job_parser::has_header() const noexcept {
  return records_ && records_->has_header();
}

void job_parser::finish() const {
  if (records_ && records_->open())
    throw fatal(exit_usage, fmt::format("{}:{}: the record that begins here ends within quotes",
                                        options_.file, first_line_));
}

std::optional<job> job_parser::read_record(std::string_view text) {
  auto r = records_->read(text, *json_);
  if (!r) return std::nullopt;
  fields_ = std::move(r->all);
  job j;
  if (r->id) j.id = id_of(*r->id);
  j.url = template_->url(r->values);
  if (template_->has_body()) {
    j.method = "POST";
    j.body = template_->body(r->values);
    j.json_body = template_->has_json_body();
    dom::element read;
    if (j.json_body)
      if (auto const wrong = parse_leniently(*json_, *j.body, leniency::numbers, read);
          !wrong.empty())
        throw malformed{
            fmt::format("the template filled with this record is not valid JSON: {}", wrong)};
  }
  if (!options_.method.empty()) j.method = options_.method;
  return j;
}

void job_parser::read_line(std::string_view text, job& j) {
  fields_.clear();
  if (text.front() == '{')
    j = read_json(text);
  else if (options_.format == line_format::vegeta)
    throw malformed{"want a target of vegeta, a JSON object"};
  else
    j.url = text;
}

job job_parser::read_json(std::string_view text) {
  if (goes_on(text))
    throw malformed{
        fmt::format("JSON over several lines; want one object a line: jq -c . {0} > {0}.jsonl",
                    printable(options_.file))};
  auto const object = parse_object(*json_, text);
  if (!labels_->empty()) fields_ = fields_of(object, text);
  if (!options_.url.empty() && object.at_key("url").error() != simdjson::SUCCESS) {
    auto j = read_body(object, text);
    j.url = options_.url;
    j.method = options_.method.empty() ? "POST" : options_.method;
    return j;
  }
  std::vector<json_member> members;
  auto const compact_value = [&](std::size_t index) {
    if (members.empty()) members = members_of(text);
    return compact(members[index].value);
  };

  job j;
  unsigned seen = 0;
  std::size_t index = 0;
  for (auto const [name, value] : object) {
    auto const k =
        static_cast<key>(std::find(key_names.begin(), key_names.end(), name) - key_names.begin());
    if (k == key_names.size())
      throw malformed{fmt::format("unknown key {}{}; known: {}", in_quotes(name),
                                  did_you_mean(name, {std::begin(key_names), std::end(key_names)}),
                                  fmt::join(key_names, ", "))};
    if (seen & (1U << k)) throw malformed{fmt::format("key {} is given twice", in_quotes(name))};
    seen |= 1U << k;
    switch (k) {
      case key_url:
        if (!value.is_string()) refuse(k, value, "a string");
        j.url = value.get_string().value_unsafe();
        break;
      case key_id:
      case key_custom_id:
        if (!j.id.empty()) throw malformed{"id and custom_id are both given; want one of them"};
        j.id = id_of(k, value);
        break;
      case key_method:
        j.method = method_of(value);
        break;
      case key_headers:
      case key_header:
        read_headers(k, value, j);
        break;
      case key_body:
        j.json_body = !value.is_string();
        if (j.json_body && !value.is_object() && !value.is_array())
          refuse(k, value, "a string, an object or an array");
        j.body =
            j.json_body ? compact_value(index) : std::string(value.get_string().value_unsafe());
        break;
      case key_body_file:
        j.body_file = body_file_of(value, options_);
        break;
      case key_cost:
        if (value.is_object())
          j.costs = costs_of(value);
        else
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
        j.meta = compact_value(index);
        break;
    }
    ++index;
  }
  if (!(seen & (1U << key_url))) throw malformed{"url is missing"};
  if ((seen & (1U << key_header)) || options_.format == line_format::vegeta) decode_body(j);
  if (j.body && j.body_file) throw malformed{"body and body_file are both given; want one of them"};
  if ((j.body || j.body_file) && !(seen & (1U << key_method))) j.method = "POST";
  return j;
}

}  // namespace headway::app
