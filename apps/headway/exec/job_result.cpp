#include "exec/job_result.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/base64.hpp"
#include "base/json_text.hpp"

namespace headway::app {
namespace {

void append_text(std::string& out, std::string_view name, std::string_view text) {
  auto const plain = simdjson::validate_utf8(text.data(), text.size());
  out += fmt::format(",\"{}{}\":", name, plain ? "" : "_base64");
  append_quoted(out, plain ? text : base64(text));
}

void append_output(std::string& out, std::string_view name, spooled const* what,
                   std::string_view file) {
  if (!file.empty())
    append_text(out, fmt::format("{}_file", name), file);
  else if (what != nullptr && !what->in)
    append_text(out, name, what->text);
}

}  // namespace

std::string line_of(job_result const& r) {
  std::string out = "{\"id\":";
  append_quoted(out, in_utf8(r.id));
  out +=
      fmt::format(",\"line\":{},\"seq\":{},\"outcome\":\"{}\"", r.line, r.number, to_string(r.how));
  if (r.attempts > 0)
    out += fmt::format(
        ",\"exit\":{},\"signal\":{},\"attempts\":{},\"throttled\":{},\"began\":{:.3f},"
        "\"seconds\":{:.3f}",
        r.exit, r.signal, r.attempts, r.throttled, r.began, to_seconds(r.took));
  if (!r.reason.empty()) append_text(out, "reason", in_utf8(r.reason));
  append_output(out, "stdout", r.output, r.output_file);
  append_output(out, "stderr", r.error, r.error_file);
  if (r.cut) out += ",\"truncated\":true";
  return out + "}";
}

std::string log_line_of(job_result const& r, std::string_view command) {
  return fmt::format("{}\t:\t{:.3f}\t{:10.3f}\t0\t{}\t{}\t{}\t{}\n", r.number, r.began,
                     to_seconds(r.took), r.output == nullptr ? 0 : r.output->size, r.exit, r.signal,
                     command);
}

std::string shell_words(std::vector<std::string> const& arguments) {
  std::string out;
  for (auto const& word : arguments) {
    if (!out.empty()) out += ' ';
    if (word.empty()) out += "''";
    for (char const c : word) {
      constexpr std::string_view plain = "+,-./:=@_%^";
      auto const is_plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                            (c & 0x80) != 0 || plain.find(c) != plain.npos;
      if (c == '\n')
        out += "'\n'";
      else
        out += is_plain ? std::string(1, c) : std::string{'\\', c};
    }
  }
  return out;
}

}  // namespace headway::app
