#include "exec/wrapper.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/text.hpp"
#include "exec/command_profile.hpp"
#include "exec/program.hpp"

namespace headway::app {
namespace {

using words = std::span<std::string const>;

/// The letters of a wrapper's options, by what follows them.
struct wrapper {
  std::initializer_list<std::string_view> names;  ///< without a version
  std::string_view valued{};    ///< a value: the rest of the word, or the next one
  std::string_view attached{};  ///< a value: the rest of the word, if any
  std::string_view module{};    ///< the program, as the next word
  std::string_view text{};      ///< a shell script's text, as the next word
  std::string_view ends{};      ///< no program
  std::initializer_list<std::string_view> long_valued{}, long_ends{};
  std::size_t operands = 0;  ///< before the program
  bool assigns = false;      ///< NAME=VALUE before the program, and - is an option
  bool script = false;       ///< the program is a script in its language
};

// Source: the manuals of coreutils 9.1, util-linux 2.38, time 1.9, Python 3.11, node 18, ruby 3.1,
// perl 5.36 and bash 5.2.
wrapper const wrappers[] = {
    {.names = {"env"},
     .valued = "uC",
     .ends = "S",
     .long_valued = {"--unset", "--chdir"},
     .long_ends = {"--split-string"},
     .assigns = true},
    {.names = {"timeout"},
     .valued = "ks",
     .long_valued = {"--kill-after", "--signal"},
     .operands = 1},
    {.names = {"nice"}, .valued = "n", .long_valued = {"--adjustment"}},
    {.names = {"nohup", "setsid"}},
    {.names = {"exec"}, .valued = "a"},  // of the shell
    {.names = {"stdbuf"}, .valued = "ioe", .long_valued = {"--input", "--output", "--error"}},
    {.names = {"time"}, .valued = "fo", .long_valued = {"--format", "--output"}},
    {.names = {"ionice"},
     .valued = "cn",
     .ends = "pPu",
     .long_valued = {"--class", "--classdata"},
     .long_ends = {"--pid", "--pgid", "--uid"}},
    {.names = {"python"}, .valued = "WX", .module = "m", .ends = "c", .script = true},
    {.names = {"node"},
     .valued = "rC",
     .ends = "ep",
     .long_valued = {"--require", "--import", "--loader"},
     .long_ends = {"--eval", "--print"},
     .script = true},
    {.names = {"ruby"}, .valued = "rIC", .attached = "xiFKETW", .ends = "e", .script = true},
    {.names = {"perl"}, .valued = "I", .attached = "MmiFDdxC", .ends = "eE", .script = true},
    {.names = {"sh", "bash", "dash"},
     .valued = "oO",
     .text = "c",
     .ends = "s",
     .long_valued = {"--rcfile", "--init-file"},
     .script = true},
};

// What a shell's text begins with, and is no program.
constexpr std::string_view shell_builtins[] = {
    ".",   "case",   "cd",   "eval", "exec",   "export", "for",   "if",
    "set", "source", "test", "trap", "ulimit", "umask",  "until", "while",
};

wrapper const* wrapper_named(std::string_view path) {
  auto const base = base_name(path);
  std::string_view name = base;
  name = name.substr(0, name.find_last_not_of("0123456789.") + 1);  // python3.11
  auto const* const found = std::ranges::find_if(wrappers, [&](wrapper const& w) {
    return std::ranges::find(w.names, name) != w.names.end();
  });
  return found == std::end(wrappers) ? nullptr : found;
}

bool one_of(std::initializer_list<std::string_view> const& all, std::string_view name) {
  return std::ranges::find(all, name) != all.end();
}

/// What follows a word of options.
enum class next : std::uint8_t { option, value, program, text, none };

next after_option(wrapper const& w, std::string_view word) {
  if (word.starts_with("--")) {
    if (one_of(w.long_ends, word.substr(0, word.find('=')))) return next::none;
    return one_of(w.long_valued, word) ? next::value : next::option;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    auto const has = [&](std::string_view letters) { return letters.find(word[i]) != word.npos; };
    auto const last = i + 1 == word.size();
    if (has(w.ends)) return next::none;
    if (has(w.attached)) return next::option;
    if (has(w.valued)) return last ? next::value : next::option;
    if (has(w.module)) return last ? next::program : next::none;
    if (has(w.text)) return last ? next::text : next::none;
  }
  return next::option;
}

/// Whether the machine is the limit of a program of that name: no guess, then.
bool is_local(std::string_view path) {
  return command_profile::of_program(base_name(path)).local();
}

/// What this wrapper, at `at`, starts; `at` itself where that is not to be told.
called started_by(wrapper const& w, words all, std::size_t at) {
  auto const found = [&](std::size_t i, bool text = false) {
    auto const known = i < all.size() && (text || !w.script || !is_local(all[i]));
    return known ? called{i, text} : called{at};
  };
  auto i = at + 1;
  for (; i < all.size() && all[i].starts_with('-'); ++i) {
    if (all[i] == "--") {
      ++i;
      break;
    }
    if (all[i] == "-" && !w.assigns) return {at};  // the script is standard input
    switch (after_option(w, all[i])) {
      case next::option:
        break;
      case next::value:
        ++i;
        break;
      case next::program:
        return found(i + 1);
      case next::text:
        return found(i + 1, true);
      case next::none:
        return {at};
    }
  }
  while (w.assigns && i < all.size() && all[i].find('=') != std::string::npos) ++i;
  return found(i + w.operands);
}

}  // namespace

called called_by(words all) {
  called now;
  while (now.at < all.size() && !now.text) {
    auto const* const w = wrapper_named(all[now.at]);
    auto const then = w == nullptr ? now : started_by(*w, all, now.at);
    if (then.at == now.at) break;
    now = then;
  }
  return now;
}

std::string program_of_script(std::string_view text) {
  std::vector<std::string> first;
  text = trimmed(text, " \t\n");
  auto const goes_on = text.find_first_of("\n;|&`(") != text.npos;
  text = text.substr(0, text.find_first_of("\n;|&"));
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find_first_of(" \t", at), text.size());
    if (end > at) first.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  auto const plain = [](std::string const& word) {
    return word.find_first_of("\"'`\\$(){}[]<>*?~#!") == word.npos;
  };
  auto const assigned = [](std::string const& word) { return word.find('=') != word.npos; };
  auto const begin = std::ranges::find_if_not(first, assigned);
  auto const found = called_by({begin, first.end()});
  auto const at = static_cast<std::size_t>(begin - first.begin()) + found.at;
  if (found.text || at >= first.size() ||
      !std::all_of(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(at) + 1, plain))
    return "";
  auto const is_shell = first[at].starts_with('-') ||
                        std::ranges::find(shell_builtins, first[at]) != std::end(shell_builtins);
  if (is_shell || (goes_on && is_local(first[at]))) return "";
  return base_name(first[at]);
}

}  // namespace headway::app
