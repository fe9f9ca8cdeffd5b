#include "jobs/mistaken.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace headway::app {
namespace {

struct format {
  std::string_view begins, what, command;
};

constexpr format formats[] = {
    {"\x1f\x8b", "compressed with gzip", "zcat"},
    {"\x28\xb5\x2f\xfd", "compressed with zstd", "zstdcat"},
    {"\xfd"
     "7zXZ",
     "compressed with xz", "xzcat"},
    {"BZh", "compressed with bzip2", "bzcat"},
    {"PK\x03\x04", "a zip archive", "unzip -p"},
    {"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
};

}  // namespace

std::string mistaken_for(std::string_view first_line, std::string_view file) {
  for (auto const& f : formats)
    if (first_line.starts_with(f.begins))
      return fmt::format("{0}; want text: {1} {2} | headway run - --journal {2}.headway", f.what,
                         f.command, printable(file));
  if (first_line.find('\r') != first_line.npos)
    return fmt::format("lines end with CR; want LF: tr '\\r' '\\n' < {0} > {0}.lf",
                       printable(file));
  auto const text = trimmed(first_line);
  if (text.starts_with('[') &&
      (text.size() == 1 || trimmed(text.substr(1)).starts_with('{') || text == "[]"))
    return fmt::format("a JSON array; want one object a line: jq -c '.[]' {0} > {0}.jsonl",
                       printable(file));
  return "";
}

bool goes_on(std::string_view line) noexcept {
  auto const text = trimmed(line);
  return text.starts_with('{') &&
         (text.ends_with('{') || text.ends_with('[') || text.ends_with(','));
}

}  // namespace headway::app
