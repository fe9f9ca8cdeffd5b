#include "report/markdown.hpp"

#include <fmt/format.h>

#include "report/characters.hpp"

namespace headway::app {
namespace {

std::string plain(std::string_view text) {
  return replaced(text, {{'|', "\\|"},
                         {'<', "&lt;"},
                         {'&', "&amp;"},
                         {'\n', " "},
                         {'`', "'"},
                         {'[', "\\["},
                         {'*', "\\*"},
                         {'_', "\\_"},
                         {'\\', "\\\\"},
                         {'@', "&#64;"}});
}

std::string row_of(report_section::row const& cells) {
  std::string line = "|";
  for (auto const& c : cells) line += fmt::format(" {} |", plain(c));
  return line + "\n";
}

}  // namespace

std::string in_markdown(reported const& r) {
  auto const content = content_of(r);
  auto out = fmt::format("## {}\n\n", plain(content.title));
  for (auto const& s : content.summary) out += plain(s) + "\n";
  for (auto const& s : content.sections) {
    out += fmt::format("\n**{}**\n\n", s.title);
    for (std::size_t i = 0; i < s.rows.size(); ++i) {
      out += row_of(s.rows[i]);
      if (i == 0) out += row_of(report_section::row(s.rows[0].size(), "---"));
    }
    if (!s.rows.empty() && !s.notes.empty()) out += "\n";
    for (auto const& note : s.notes) out += plain(note) + "\n";
  }
  return out;
}

}  // namespace headway::app
