#include "run/result.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <simdjson.h>

#include <array>

namespace headway::app {

struct result_writer::parser {
  simdjson::dom::parser json;
};

result_writer::result_writer() : parser_(std::make_unique<parser>()) {}
result_writer::~result_writer() = default;

std::string_view to_string(final_outcome how) noexcept {
  switch (how) {
    case final_outcome::success:
      return "success";
    case final_outcome::failed:
      return "failed";
    case final_outcome::unknown:
      return "unknown";
  }
  return "unknown";
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, begin, i - begin);
    begin = i + 1;
    out += '\\';
    switch (c) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case '\n':
        out += 'n';
        break;
      case '\r':
        out += 'r';
        break;
      case '\t':
        out += 't';
        break;
      default:
        out += "u00", out += hex[c >> 4], out += hex[c & 15];
    }
  }
  out.append(text, begin);
  out += '"';
}

namespace {

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock ends with a NUL
  auto const n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                 reinterpret_cast<unsigned char const*>(bytes.data()),
                                 static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

std::int64_t milliseconds(duration d) {
  return std::chrono::round<std::chrono::milliseconds>(d).count();
}

}  // namespace

std::string_view result_writer::line_of(result const& r) {
  text_ = R"({"id":)";
  append_quoted(text_, r.id);
  auto out = std::back_inserter(text_);
  fmt::format_to(out, R"(,"line":{},"outcome":"{}")", r.line, to_string(r.how));
  if (r.status != 0) fmt::format_to(out, R"(,"status":{})", r.status);
  fmt::format_to(out, R"(,"attempts":{},"throttled":{},"waited_ms":{},"latency_ms":{})", r.attempts,
                 r.throttled, milliseconds(r.waited), milliseconds(r.latency));
  if (!r.reason.empty()) {
    text_ += R"(,"reason":)";
    append_quoted(text_, simdjson::validate_utf8(r.reason) ? r.reason : "unprintable");
  }
  if (!r.body.empty()) {
    auto const valid = simdjson::validate_utf8(r.body);
    if (valid && r.type.find("json") != r.type.npos &&
        parser_->json.parse(r.body.data(), r.body.size()).error() == simdjson::SUCCESS) {
      compact_.resize(r.body.size());
      std::size_t size = 0;
      if (simdjson::minify(r.body.data(), r.body.size(), compact_.data(), size) ==
          simdjson::SUCCESS)
        text_.append(R"(,"body":)").append(compact_, 0, size);
    } else if (valid) {
      text_ += R"(,"body":)";
      append_quoted(text_, r.body);
    } else {
      text_.append(R"(,"body_base64":")").append(base64(r.body)) += '"';
    }
  }
  if (!r.meta.empty()) text_.append(R"(,"meta":)").append(r.meta);
  text_ += '}';
  return text_;
}

}  // namespace headway::app
