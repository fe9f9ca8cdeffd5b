#include "exec/argv_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"

namespace headway::app {
namespace {

bool is_name(std::string_view text) {
  auto const begins = !text.empty() && !is_digit(text.front()) && text.front() != '-';
  return begins && std::ranges::all_of(text, [](char c) {
           return is_alphanumeric(c) || c == '_' || c == '-' || (c & 0x80) != 0;
         });
}

std::string_view base_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string_view stem_of(std::string_view path) {
  auto const dot = path.rfind('.');
  return dot == path.npos || path.find('/', dot) != path.npos ? path : path.substr(0, dot);
}

/// As dirname(1) has it.
std::string_view folder_of(std::string_view path) {
  auto const without_slashes = [](std::string_view p) {
    while (p.size() > 1 && p.ends_with('/')) p.remove_suffix(1);
    return p;
  };
  path = without_slashes(path);
  auto const slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return without_slashes(path.substr(0, slash + 1));
}

/// Where a shell script stands within its quotes.
class shell_quotes {
 public:
  void read(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      char const c = text[i];
      auto& in = open_.back();
      if (in == '#') {
        if (c == '\n') open_.pop_back();
      } else if (in == '\'') {
        if (c == '\'') open_.pop_back();
      } else if (c == '\\') {
        ++i;
      } else if (c == '$' && is_parameter(text.substr(i + 1))) {
        reads_parameters_ = true;
      } else if (c == '$' && text.substr(i).starts_with("$(")) {
        open_ += '(';
        ++i;
      } else if (in == '"') {
        if (c == '"') open_.pop_back();
      } else if (c == '"' || c == '\'') {
        open_ += c;
      } else if (c == '(') {
        open_ += c;
      } else if (c == ')' && in == '(') {
        open_.pop_back();
      } else if (c == '#' && (before_ == ' ' || before_ == '\n' || before_ == ';')) {
        open_ += c;
      }
      before_ = c;
    }
  }
  /// Returns whether "$1", "$@" or the like stood where the shell replaces it.
  bool reads_parameters() const noexcept { return reads_parameters_; }
  std::string put(std::string_view parameter) const {
    switch (open_.back()) {
      case '"':
        return fmt::format("${{{}}}", parameter);
      case '\'':
        return fmt::format("'\"${{{}}}\"'", parameter);
      default:
        return fmt::format("\"${{{}}}\"", parameter);
    }
  }

 private:
  static bool is_parameter(std::string_view after_dollar) {
    if (after_dollar.starts_with('{')) after_dollar.remove_prefix(1);
    return !after_dollar.empty() &&
           std::string_view("@*123456789").find(after_dollar.front()) != std::string_view::npos;
  }

  std::string open_ = " ";  // quotes and parentheses, the innermost last
  char before_ = '\n';
  bool reads_parameters_ = false;
};

bool reads_parameters(std::vector<std::string> const& script) {
  shell_quotes quotes;
  for (auto const& word : script) quotes.read(word + ' ');
  return quotes.reads_parameters();
}

}  // namespace

argv_template::argv_template(std::vector<std::string> words, style how, bool adds)
    : words_(std::move(words)), style_(how) {
  for (auto const& word : words_) all_.push_back(read(word));
  auto const replaced =
      std::ranges::any_of(all_, [](pieces const& word) { return word.size() > 1; });
  by_position_ = !replaced && adds && how == style::shell && reads_parameters(words_);
  if (!replaced && adds && how != style::text && !by_position_) {
    all_.push_back(read("{}"));
    words_.emplace_back("{}");
  }
  if (how == style::shell) make_script();
}

bool argv_template::puts_value() const noexcept {
  return std::ranges::any_of(all_, [](pieces const& word) {
    return std::ranges::any_of(word, [](piece const& p) {
      return p.is == what::all || p.is == what::column || p.is == what::name;
    });
  });
}

bool argv_template::fixed_program() const noexcept {
  return style_ == style::shell || fixed(0);
}

bool argv_template::fixed(std::size_t word) const noexcept {
  return word < all_.size() && all_[word].size() == 1;
}

/// The last piece is text, and each other text has a value after it.
argv_template::pieces argv_template::read(std::string_view word) {
  pieces found;
  std::string text;
  for (std::size_t i = 0; i < word.size();) {
    auto const rest = word.substr(i);
    if (rest.starts_with("{{")) {  // as of Go's templates
      auto const end = std::min(rest.find("}}"), rest.size() - 2) + 2;
      text += rest.substr(0, end);
      i += end;
      continue;
    }
    auto const escaped = rest.starts_with("\\{");
    auto const close = rest.find('}');
    piece one;
    if ((escaped || rest.starts_with('{')) && close != rest.npos &&
        read_one(rest.substr(escaped ? 2 : 1, close - (escaped ? 2 : 1)), one)) {
      if (escaped) {
        text += rest.substr(1, close);
      } else {
        if (one.is == what::name) {
          auto const known = std::ranges::find(names_, one.text);
          one.index = known - names_.begin();
          if (known == names_.end()) names_.push_back(one.text);
        }
        columns_wanted_ = std::max(
            columns_wanted_, one.is == what::column ? static_cast<int>(std::abs(one.index)) : 0);
        found.push_back({.text = std::exchange(text, {})});
        found.push_back(std::move(one));
      }
      i += close + 1;
      continue;
    }
    text += word[i++];
  }
  found.push_back({.text = std::move(text)});
  return found;
}

/// What stands between braces; false where it is no replacement string.
bool argv_template::read_one(std::string_view inside, piece& one) {
  if (inside == "#" || inside == "%") {
    one.is = inside == "#" ? what::number : what::slot;
    return true;
  }
  constexpr std::pair<std::string_view, part> ends[] = {
      {"//", part::folder}, {"/.", part::base_stem}, {"/", part::base}, {".", part::stem}};
  for (auto const& [end, of] : ends)
    if (inside.ends_with(end)) {
      one.of = of;
      inside.remove_suffix(end.size());
      break;
    }
  if (inside.empty()) {
    one.is = what::all;
    return true;
  }
  int index = 0;
  auto const* const last = inside.data() + inside.size();
  if (auto const [end, wrong] = std::from_chars(inside.data(), last, index);
      wrong == std::errc{} && end == last && index != 0) {
    one.is = what::column;
    one.index = index;
    return true;
  }
  one.is = what::name;
  one.text = inside;
  return is_name(inside);
}

std::string argv_template::cut(std::string_view value, part of) {
  switch (of) {
    case part::whole:
      break;
    case part::stem:
      return std::string(stem_of(value));
    case part::base:
      return std::string(base_of(value));
    case part::folder:
      return std::string(folder_of(value));
    case part::base_stem:
      return std::string(stem_of(base_of(value)));
  }
  return std::string(value);
}

std::string argv_template::value_of(piece const& p, job_values const& v) const {
  switch (p.is) {
    case what::text:
      return p.text;
    case what::all: {
      std::string all;
      for (std::size_t i = 0; i < v.columns.size(); ++i)
        all.append(i > 0 ? " " : "").append(cut(v.columns[i], p.of));
      return all;
    }
    case what::column: {
      auto const size = static_cast<std::ptrdiff_t>(v.columns.size());
      auto const at = p.index > 0 ? p.index - 1 : size + p.index;
      return at >= 0 && at < size ? cut(v.columns[static_cast<std::size_t>(at)], p.of) : "";
    }
    case what::name:
      return cut(v.named[static_cast<std::size_t>(p.index)], p.of);
    case what::number:
      return std::to_string(v.number);
    case what::slot:
      return std::to_string(v.slot);
  }
  return {};
}

std::string argv_template::joined(pieces const& word, job_values const& v) const {
  std::string whole;
  for (auto const& p : word) whole += value_of(p, v);
  return whole;
}

void argv_template::make_script() {
  shell_quotes quotes;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (i > 0) script_ += ' ';
    if (i > 0) quotes.read(" ");
    for (auto const& p : all_[i]) {
      if (p.is == what::text) {
        quotes.read(p.text);
        script_ += p.text;
        continue;
      }
      put_into_script_.push_back(p);
      script_ += quotes.put(std::to_string(put_into_script_.size()));
    }
  }
}

std::vector<std::string> argv_template::filled(job_values const& v) const {
  std::vector<std::string> arguments;
  if (style_ == style::shell) {
    arguments = {"/bin/sh", "-c", script_, "sh"};
    for (auto const& p : put_into_script_) arguments.push_back(value_of(p, v));
    if (by_position_) arguments.insert(arguments.end(), v.columns.begin(), v.columns.end());
    return arguments;
  }
  for (auto const& word : all_) {
    auto const whole =
        word.size() == 3 && word[1].is == what::all && word[0].text.empty() && word[2].text.empty();
    if (!whole) {
      arguments.push_back(joined(word, v));
      continue;
    }
    for (auto const& column : v.columns) arguments.push_back(cut(column, word[1].of));
  }
  return arguments;
}

std::string argv_template::text(job_values const& v) const {
  return joined(all_.front(), v);
}

}  // namespace headway::app
