#include "client/answer_head.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace headway::app {

bool answer_head::take(std::string_view line) {
  bytes_ += line.size();
  if (too_long()) return false;
  if (line.starts_with("HTTP/")) {  // also after an interim answer, or a proxy's
    ended_ = two_lengths_ = false;
    length_.clear();
    coding_.clear();
    lines_.clear();
    switches_ = line.substr(std::min(line.find(' '), line.size())).starts_with(" 101");
    return !switches_;
  } else if (line == "\r\n" || line == "\n") {
    ended_ = true;
    return !two_lengths_;
  } else if (!ended_) {
    auto const colon = line.find(':');
    auto const name = line.substr(0, colon);
    auto const value = line.substr(std::min(colon, line.size() - 1) + 1);
    if (equal_ignoring_case(name, "Content-Length")) compare_length(value);
    if (equal_ignoring_case(name, "Content-Encoding"))
      coding_.append(coding_.empty() ? "" : ", ").append(trimmed(value, " \t\r\n"));
    if (line.starts_with(' ') || line.starts_with('\t'))  // it goes on with the field before
      lines_.resize(lines_.find_last_not_of("\r\n") + 1);
    lines_ += line;
  }
  return true;
}

void answer_head::clear() {
  bytes_ = 0;
  ended_ = two_lengths_ = switches_ = false;
  length_.clear();
  coding_.clear();
  lines_.clear();
  if (lines_.capacity() > (1U << 14)) std::string().swap(lines_);
}

void answer_head::read(std::vector<http::field>& all) const {
  all.clear();
  for (std::string_view rest = lines_; !rest.empty() && all.size() < fields_max;) {
    auto const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto const colon = line.find(':');
    if (colon != line.npos) all.push_back({line.substr(0, colon), trimmed(line.substr(colon + 1))});
  }
}

void answer_head::compare_length(std::string_view lengths) {
  while (!lengths.empty()) {
    auto const comma = lengths.find(',');
    auto const one = trimmed(lengths.substr(0, comma), " \t\r\n");
    lengths.remove_prefix(comma == lengths.npos ? lengths.size() : comma + 1);
    if (length_.empty())
      length_ = one;
    else if (length_ != one)
      two_lengths_ = true;
  }
}

}  // namespace headway::app
