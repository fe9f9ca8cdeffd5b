#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fatal.hpp"
#include "headway/require.hpp"
#include "jobs/jobs_file.hpp"

namespace {

using namespace headway::app;

line_options with_base() {
  line_options options;
  options.base_url = "http://base";
  return options;
}

/// "line id" of each job, and "error" at the end where one stops it.
using history = std::vector<std::string>;

/// The obvious way: all of the text, and a map.
history plainly(std::string_view text) {
  static job_parser parser(with_base());
  history seen;
  std::map<std::string, std::int64_t> ids;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    auto const end = text.find('\n');
    try {
      if (auto const j = parser.parse(text.substr(0, end), line)) {
        if (!ids.emplace(j->id, line).second) throw fatal(exit_usage, "twice");
        seen.push_back(std::to_string(line) + " " + j->id);
      }
    } catch (fatal const&) {
      seen.emplace_back("error");
      return seen;
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return seen;
}

history streamed(std::string_view text, std::size_t step) {
  history seen;
  job_stream stream(with_base());
  stream.check_ids();
  try {
    for (bool more = true; more;) {
      more = !text.empty();
      auto const piece = text.substr(0, step);
      text.remove_prefix(piece.size());
      stream.feed(piece);
      if (!more) stream.finish();
      while (auto const j = stream.next()) seen.push_back(std::to_string(j->line) + " " + j->id);
    }
  } catch (fatal const&) {
    seen.emplace_back("error");
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
  HEADWAY_REQUIRE(streamed(text, 1U + data[0] % 64U) == plainly(text));
  return 0;
}
