#include "journal/result.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/base64.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace headway::app {

namespace {

// A line of results has one level more: at most 100, as parsers of other languages take by default
// (Ruby's 100, serde_json's 128, Python's somewhat less than 1000).
constexpr std::size_t depth_max = 99;

constexpr std::size_t buffers_max = 8 << 20;  // bytes that are kept for the next line

constexpr std::string_view too_deep = "nested deeper than 1024";
static_assert(simdjson::DEFAULT_MAX_DEPTH == 1024);

}  // namespace

struct result_writer::parser {
  simdjson::dom::parser json;  // of what stands in a result as JSON
  simdjson::dom::parser whole;
  simdjson::dom::element read;  // by `whole`
  simdjson::ondemand::parser lazy;
};

result_writer::result_writer() {
  begin_small();
}
result_writer::~result_writer() = default;

void result_writer::begin_small() {
  std::string().swap(text_);
  std::string().swap(compact_);
  parser_ = std::make_unique<parser>();
  if (parser_->json.allocate(1 << 16, depth_max) != simdjson::SUCCESS) throw std::bad_alloc();
}

std::string_view result_writer::line_of(result const& r) {
  if (text_.capacity() + compact_.capacity() + parser_->json.capacity() +
          parser_->whole.capacity() >
      buffers_max)
    begin_small();
  text_ = R"({"id":)";
  append_quoted(text_, r.id);
  append_number(R"(,"line":)", r.line);
  if (!r.url.empty()) {
    text_ += R"(,"url":)";
    append_quoted(text_, r.url);
  }
  text_.append(R"(,"outcome":")").append(to_string(r.how)) += '"';
  if (r.status != 0) append_number(R"(,"status":)", r.status);
  for (auto const& [name, value] : r.numbers()) {
    text_.append(",\"").append(name);
    append_number("\":", value);
  }
  bool const asked = !r.select.empty() && r.body_file.empty();
  auto const unselected = asked ? why_unselected(r) : std::string();
  bool const selects = asked && (r.body.empty() || unselected.empty());
  if (!r.reason.empty()) {
    text_ += R"(,"reason":)";
    append_quoted(text_, simdjson::validate_utf8(r.reason) ? r.reason : "unprintable");
  } else if (!unselected.empty()) {
    text_.append(R"(,"reason":"the body is )")
        .append(unselected)
        .append(R"(; nothing is selected of it)");
    text_.append(selects ? R"(")" : R"(, and the results have it whole")");
  }
  if (!r.headers.empty()) append_headers(r.headers);
  if (!r.body_file.empty()) {
    text_ += R"(,"body_file":)";
    append_quoted(text_, r.body_file);
  } else if (selects) {
    append_parts(r.body, r.select);
  } else if (!r.body.empty()) {
    append_body(r);
  }
  if (!r.meta.empty()) text_.append(R"(,"meta":)").append(r.meta);
  text_ += '}';
  return text_;
}

void result_writer::append_number(std::string_view name, std::int64_t value) {
  std::array<char, 20> digits;
  auto* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text_.append(name).append(digits.data(), end);
}

void result_writer::append_headers(std::span<http::field const> fields) {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto const& f : fields) all.emplace_back(lower(f.name), in_utf8(f.value));
  std::ranges::stable_sort(all, {}, [](auto const& one) { return std::string_view(one.first); });
  text_ += R"(,"headers":{)";
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].first == all[i - 1].first) {
      text_.back() = ',';  // the end of its list
    } else {
      if (i > 0) text_ += ',';
      append_quoted(text_, in_utf8(all[i].first));
      text_ += ":[";
    }
    append_quoted(text_, all[i].second);
    text_ += ']';
  }
  text_ += '}';
}

void result_writer::append_body(result const& r) {
  auto const valid = simdjson::validate_utf8(r.body);
  if (valid && r.type.find("json") != r.type.npos &&
      parser_->json.parse(r.body.data(), r.body.size()).error() == simdjson::SUCCESS) {
    text_ += R"(,"body":)";
    append_compact(r.body);
  } else if (valid) {
    text_ += R"(,"body":)";
    append_quoted(text_, r.body);
  } else {
    text_.append(R"(,"body_base64":")").append(base64(r.body)) += '"';
  }
}

/// Reads the body, and takes note where there is none that can be read.
std::string result_writer::why_unselected(result const& r) {
  if (r.body.empty()) {
    if (empty_++ == 0) first_empty_ = r.line;
    return "empty";
  }
  auto const wrong = parse_leniently(parser_->whole, r.body, leniency::all, parser_->read);
  if (wrong.empty()) return {};
  auto const deep = wrong == simdjson::error_message(simdjson::DEPTH_ERROR);
  if (unread_++ == 0) first_unread_ = fmt::format("line {}: {}", r.line, deep ? too_deep : wrong);
  return std::string(deep ? too_deep : "no JSON that can be read");
}

std::string result_writer::unread() const {
  std::string text;
  if (unread_ > 0)
    text = fmt::format("--select: {} {} no JSON that can be read, and {} kept whole ({})\n",
                       unread_, unread_ == 1 ? "body is" : "bodies are",
                       unread_ == 1 ? "is" : "are", first_unread_);
  if (empty_ > 0)
    text +=
        fmt::format("--select: {} empty (line {})\n",
                    empty_ == 1 ? "1 body is" : fmt::format("{} bodies are", empty_), first_empty_);
  return text;
}

void result_writer::append_parts(std::string_view body, std::span<selection const> parts) {
  text_ += R"(,"body":)";
  body = without_mark(body);
  if (parts.front().name.empty()) return append_part(body, parts.front().pointer);
  for (auto const& [name, pointer] : parts) {
    text_ += &name == &parts.front().name ? '{' : ',';
    append_quoted(text_, name);
    text_ += ':';
    append_part(body, pointer);
  }
  text_ += '}';
}

void result_writer::append_part(std::string_view body, std::string_view pointer) {
  simdjson::dom::element part;
  if (body.empty() || parser_->read.at_pointer(pointer).get(part) != simdjson::SUCCESS) {
    text_ += "null";
    return;
  }
  // This parser checks less, but knows how the part was written: no digit of a number is lost.
  simdjson::padded_string const padded(body);
  simdjson::ondemand::document document;
  simdjson::ondemand::value value;
  std::string_view written = body;
  if (!pointer.empty() && (parser_->lazy.iterate(padded).get(document) != simdjson::SUCCESS ||
                           document.at_pointer(pointer).get(value) != simdjson::SUCCESS ||
                           simdjson::to_json_string(value).get(written) != simdjson::SUCCESS))
    written = written_at(parser_->read, body, pointer);  // a key with escapes
  if (parser_->json.parse(written.data(), written.size()).error() != simdjson::SUCCESS ||
      !append_compact(written))
    append_quoted(text_, written);  // nested too deep, or refused by parsers
}

bool result_writer::append_compact(std::string_view json) {
  compact_.resize(json.size());
  std::size_t size = 0;
  if (simdjson::minify(json.data(), json.size(), compact_.data(), size) != simdjson::SUCCESS)
    return false;
  text_.append(compact_, 0, size);
  return true;
}

selection parse_selection(std::string_view text) {
  selection read;
  auto const equals = text.find('=');
  if (!text.empty() && text.front() != '/' && equals != 0 && equals < text.find('/')) {
    read.name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  }
  bool sound = (text.empty() || text.front() == '/') && simdjson::validate_utf8(text) &&
               simdjson::validate_utf8(read.name);
  for (auto at = text.find('~'); at != text.npos; at = text.find('~', at + 1))
    sound = sound && at + 1 < text.size() && (text[at + 1] == '0' || text[at + 1] == '1');
  if (!sound)
    throw std::invalid_argument(
        "not a JSON pointer, such as /choices/0/message or answer=/choices/0/message (in a key, ~1 "
        "is a slash and ~0 a ~)");
  read.pointer = text;
  return read;
}

std::string words_of(std::span<selection const> all) {
  std::string words;
  for (auto const& [name, pointer] : all) {
    if (!words.empty()) words += ' ';
    words += name.empty() ? in_quotes(pointer) : in_quotes(name + '=' + pointer);
  }
  return words;
}

}  // namespace headway::app
