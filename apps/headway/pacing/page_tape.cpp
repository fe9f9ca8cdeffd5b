#include "pacing/page_tape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "pacing/fields.hpp"

namespace headway::app {
namespace {

using texts = std::vector<std::string>;

texts texts_of(common_pace const& value) {
  texts all;
  each_number(value, [&](auto n) { all.push_back(fmt::format("{}", n)); });
  return all;
}

bool read_number(std::string const& text, bool& n) {
  n = text == "true";
  return n || text == "false";
}
template <class Number>
bool read_number(std::string const& text, Number& n) {
  auto const* const end = text.data() + text.size();
  auto const [read, wrong] = std::from_chars(text.data(), end, n);
  return wrong == std::errc{} && read == end;
}

/// `value` with these numbers. False where they are none of it.
bool read_value(texts const& all, common_pace& value) {
  std::size_t i = 0;
  bool good = true;
  each_number(value, [&]<class Number>(Number& n) {
    if (i == all.size()) return void(good = false);
    auto read = n;
    if constexpr (std::is_const_v<Number>) {
      std::remove_const_t<Number> index{};
      good = good && read_number(all[i++], index) && index == n;
    } else {
      good = good && read_number(all[i++], read);
      if (good) n = read;
    }
  });
  return good && i == all.size();
}

/// Reads a number, and takes it from `text`; 0 where there is none.
std::uint64_t number(std::string_view& text) noexcept {
  std::uint64_t n = 0;
  auto const end = std::from_chars(text.data(), text.data() + text.size(), n).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return n;
}

bool taken_from(std::string_view& text, char c) noexcept {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string page_tape::take() {
  asked_ = 0;
  at_ = 0;
  return std::exchange(answers_, {});
}

void page_tape::play(std::string_view answers) {
  asked_ = 0;
  at_ = 0;
  answers_ = answers;
}

void page_tape::note(std::string_view what) {
  if (!answers_.empty()) answers_ += ' ';
  fmt::format_to(std::back_inserter(answers_), "{}{}", asked_, what);
}

bool page_tape::says(char kind, std::string_view& rest) {
  rest = std::string_view(answers_).substr(at_);
  rest = rest.substr(0, rest.find(' '));
  auto const size = rest.size();
  if (number(rest) != static_cast<std::uint64_t>(asked_) || !taken_from(rest, kind)) return false;
  at_ += size + 1;
  if (at_ > answers_.size()) at_ = answers_.size();
  return true;
}

page::version recording_page::latest() const noexcept {
  ++tape_->asked_;
  auto const v = real_->latest();
  if (v != known_) tape_->note("v");
  return v;
}

bool recording_page::read(version& seen, common_pace& value) const noexcept {
  ++tape_->asked_;
  if (!real_->read(seen, value)) {
    tape_->note("x");
    return false;
  }
  known_ = seen;
  std::string text = "r";
  auto const before = texts_of(tape_->known_), now = texts_of(value);
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] != before[i])
      fmt::format_to(std::back_inserter(text), "{}{}={}", text.size() > 1 ? "," : "", i, now[i]);
  tape_->note(text);
  tape_->known_ = value;
  return true;
}

bool recording_page::publish(version& seen, common_pace const& value) noexcept {
  ++tape_->asked_;
  if (!real_->publish(seen, value)) {
    tape_->note("f");
    return false;
  }
  known_ = seen;
  tape_->known_ = value;
  return true;
}

bool recording_page::taken(int seat) const noexcept {
  ++tape_->asked_;
  auto const is = real_->taken(seat);
  if (is != std::exchange(tape_->taken_.at(static_cast<std::size_t>(seat)), is)) tape_->note("t");
  return is;
}

time_point recording_page::now() const noexcept {
  ++tape_->asked_;
  auto const at = real_->now();
  tape_->note(fmt::format("n{}", at.time_since_epoch().count()));
  return at;
}

page::version replayed_page::latest() const noexcept {
  ++tape_->asked_;
  std::string_view rest;
  if (tape_->says('v', rest)) ++known_;
  return known_;
}

bool replayed_page::read(version& seen, common_pace& value) const noexcept {
  ++tape_->asked_;
  std::string_view rest;
  seen = known_;
  if (!tape_->says('r', rest)) return tape_->says('x', rest) && false;
  auto all = texts_of(tape_->known_);
  while (!rest.empty()) {
    auto const i = number(rest);
    if (!taken_from(rest, '=') || i >= all.size()) return false;
    auto const end = rest.find(',');
    all[i] = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  if (!read_value(all, tape_->known_)) return false;
  value = tape_->known_;
  return true;
}

bool replayed_page::publish(version& seen, common_pace const& value) noexcept {
  ++tape_->asked_;
  std::string_view rest;
  if (tape_->says('f', rest)) return false;
  seen = ++known_;
  tape_->known_ = value;
  return true;
}

bool replayed_page::taken(int seat) const noexcept {
  ++tape_->asked_;
  auto& is = tape_->taken_.at(static_cast<std::size_t>(seat));
  std::string_view rest;
  if (tape_->says('t', rest)) is = !is;
  return is;
}

time_point replayed_page::now() const noexcept {
  ++tape_->asked_;
  std::string_view rest;
  return tape_->says('n', rest) ? time_point(duration(static_cast<std::int64_t>(number(rest))))
                                : time_point();
}

}  // namespace headway::app
