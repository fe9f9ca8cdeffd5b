#include "status/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t name_max = 120, example_max = 80;  // columns

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, text.find(mark));
}

/// Without the digits behind `kept`.
std::string without_digits(std::string_view text, std::size_t kept) {
  std::string plain(text.substr(kept));
  std::erase_if(plain, is_digit);
  return std::string(text.substr(0, kept)) + plain;
}

}  // namespace

void losses::add(loss const& l) {
  auto name = before(l.reason, "; ");
  auto const status = name.starts_with("status ");
  if (status) name = before(name, ": ");
  auto const detail = l.reason.substr(std::min(name.size(), l.reason.size()));
  auto& kinds = all_[{l.how, std::string(l.host)}];
  auto const code = name.starts_with("exit ") ? before(name, ": ").size() : 0;
  auto key = status ? std::string(name) : without_digits(name, code);
  auto found = kinds.find(key);
  if (found == kinds.end()) {
    if (kinds_ == kinds_max) {
      ++others_;
      return;
    }
    ++kinds_;
    auto const told = detail.starts_with(": ") ? detail.substr(2) : std::string_view();
    auto example = fmt::format("line {}", l.line);
    if (!told.empty())
      example += ": " + cut_to(example_max, printable(told));
    else if (!trimmed(l.said, " \t\r\n").empty())
      example += ": " + in_quotes(trimmed(l.said, " \t\r\n"));
    found =
        kinds.emplace(std::move(key), kind{0, cut_to(name_max, printable(name)), example}).first;
  }
  ++found->second.count;
}

std::string losses::words() const {
  std::string text;
  std::size_t rows = 0;
  auto const hosts = std::ranges::count_if(
      all_, [this](auto const& a) { return a.first.second != all_.begin()->first.second; });
  for (auto const& [whose, kinds] : all_) {
    if (rows++ == 2 * shown_max) {
      text += fmt::format("and at {} hosts more\n", all_.size() - 2 * shown_max);
      break;
    }
    std::vector<kind const*> most;
    for (auto const& [key, k] : kinds) most.push_back(&k);
    std::ranges::stable_sort(most, std::greater{}, &kind::count);
    text += to_string(whose.first);
    if (hosts > 0) text += " at " + whose.second;
    for (std::size_t i = 0; i < std::min(most.size(), shown_max); ++i)
      text += fmt::format("{} {} × {} ({})", i == 0 ? ":" : ",", most[i]->count, most[i]->name,
                          most[i]->example);
    if (most.size() > shown_max) {
      std::int64_t rest = 0;
      for (auto i = shown_max; i < most.size(); ++i) rest += most[i]->count;
      text += fmt::format(", {} in other ways", rest);
    }
    text += '\n';
  }
  if (others_ > 0) text += fmt::format("and {} more, in other ways\n", others_);
  return text;
}

}  // namespace headway::app
