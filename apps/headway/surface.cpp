#include "surface.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/fatal.hpp"
#include "command.hpp"

namespace headway::app {
namespace {

using commands = std::vector<surface_command>;

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

surface_option read_option(CLI::Option const& o) {
  surface_option read{.names = {},
                      .value = {},
                      .choices = {},
                      .initial = o.get_default_str(),
                      .what = one_line(o.get_description())};
  for (auto const& name : o.get_snames()) read.names.push_back("-" + name);
  for (auto const& name : o.get_lnames()) read.names.push_back("--" + name);
  read.positional = read.names.empty();
  if (read.positional) read.names.push_back(o.get_name());
  read.repeatable =
      o.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll && o.get_expected_max() > 0;
  if (o.get_items_expected_max() == 0) return read;
  auto const type = o.get_type_name();  // "TEXT:{power,process}"
  read.value = type.substr(0, type.find_first_of(": "));
  if (auto const found = offered().find(&o); found != offered().end()) {
    read.offers = found->second();
    return read;
  }
  auto const open = type.find('{');
  if (auto const close = type.rfind('}'); open != type.npos && close != type.npos) {
    std::istringstream list(type.substr(open + 1, close - open - 1));
    for (std::string one; std::getline(list, one, ',');) read.choices.push_back(one);
  }
  read.offers = read.choices;
  return read;
}

surface_command read_command(CLI::App const& app, std::string name) {
  surface_command read{.name = std::move(name), .what = app.get_description(), .options = {}};
  for (auto const* o : app.get_options())
    if (!o->get_group().empty()) read.options.push_back(read_option(*o));
  return read;
}

/// The first line of what a command does.
std::string summary(surface_command const& c) {
  return c.what.substr(0, c.what.find('\n'));
}

std::string replaced(std::string_view text, std::string_view special, std::string_view before) {
  std::string escaped;
  for (char const c : text) {
    if (special.find(c) != special.npos) escaped += before;
    escaped += c;
  }
  return escaped;
}

/// In single quotes, as a shell takes it.
std::string shell_word(std::string_view text) {
  std::string whole = "'";
  for (char const c : text) c == '\'' ? whole += "'\\''" : whole += c;
  return whole + "'";
}

/// The long names, or the short ones where there are none.
std::vector<std::string> options_of(surface_command const& c) {
  std::vector<std::string> names;
  for (auto const& o : c.options)
    if (!o.positional) names.insert(names.end(), o.names.begin(), o.names.end());
  return names;
}

// ── man ─────────────────────────────────────────────────────────────────────────────────────

std::string roff(std::string_view text) {
  std::string escaped;
  for (char const c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-' || c == '\'' || c == '`' || c == '^' || c == '~')
      escaped += c == '-'    ? "\\-"
                 : c == '\'' ? "\\(aq"
                 : c == '`'  ? "\\(ga"
                 : c == '^'  ? "\\(ha"
                             : "\\(ti";
    else
      escaped += c;
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

/// Paragraphs; lines that are indented are shown as they are.
std::string roff_text(std::string_view text) {
  std::string out;
  std::istringstream lines{std::string(text)};
  bool as_it_is = false;
  for (std::string line; std::getline(lines, line);) {
    auto const example = line.starts_with("  ");
    if (example != as_it_is) out += example ? ".PP\n.nf\n.RS 4\n" : ".RE\n.fi\n";
    as_it_is = example;
    out += line.empty() ? ".PP" : roff(example ? line.substr(2) : line);
    out += '\n';
  }
  if (as_it_is) out += ".RE\n.fi\n";
  for (auto at = out.find(".PP\n.PP\n"); at != out.npos; at = out.find(".PP\n.PP\n", at))
    out.erase(at, 4);
  while (out.ends_with(".PP\n")) out.erase(out.size() - 4);
  return out;
}

std::string roff_option(surface_option const& o) {
  std::string names;
  for (auto const& name : o.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  auto const values = o.choices.empty() ? o.value : fmt::format("{}", fmt::join(o.choices, "|"));
  if (!values.empty() && !o.positional) names += fmt::format(" \\fI{}\\fR", roff(values));
  if (o.repeatable) names += " ...";
  auto text = roff(o.what);
  if (!o.initial.empty()) text += fmt::format(" [{}]", roff(o.initial));
  return fmt::format(".TP\n{}\n{}\n", names, text);
}

}  // namespace

commands surface_of(CLI::App const& program) {
  commands all{read_command(program, "")};
  for (auto const* sub :
       program.get_subcommands([](auto const* s) { return !s->get_group().empty(); }))
    all.push_back(read_command(*sub, sub->get_name()));
  return all;
}

std::string man_page(commands const& all) {
  auto out = fmt::format(
      ".TH HEADWAY 1 \"\" \"headway {}\" \"User Commands\"\n.SH NAME\nheadway \\- calls a "
      "rate\\-limited API as fast as it lets you\n.SH SYNOPSIS\n",
      HEADWAY_VERSION);
  for (auto const& c : all) {
    if (c.name.empty()) continue;
    out += fmt::format(".B headway {}\n[\\fIoptions\\fR]", roff(c.name));
    for (auto const& o : c.options)
      if (o.positional) out += fmt::format(" \\fI{}\\fR", roff(o.names.front()));
    out += "\n.br\n";
  }
  for (auto const& c : all) {
    out += c.name.empty() ? ".SH DESCRIPTION\n" : fmt::format(".SH HEADWAY {}\n", roff(c.name));
    out += roff_text(c.what);
    for (auto const& o : c.options) out += roff_option(o);
  }
  return out;
}

// ── shells ──────────────────────────────────────────────────────────────────────────────────

std::string bash_completion(commands const& all) {
  std::vector<std::string> names;
  std::string values, options, positionals;
  for (auto const& c : all) {
    if (!c.name.empty()) names.push_back(c.name);
    for (auto const& o : c.options)
      if (!o.positional && !o.value.empty()) {
        std::vector<std::string> patterns;
        for (auto const& name : o.names) patterns.push_back(fmt::format("{},{}", c.name, name));
        values += fmt::format("    {})\n", fmt::join(patterns, "|"));
        if (!o.offers.empty())
          values += fmt::format("      COMPREPLY=($(compgen -W {} -- \"$cur\"))\n",
                                shell_word(fmt::format("{}", fmt::join(o.offers, " "))));
        values += "      return ;;\n";
      }
    for (auto const& o : c.options)
      if (o.positional && !o.offers.empty())
        positionals += fmt::format("    {}) offers={} ;;\n", c.name,
                                   shell_word(fmt::format("{}", fmt::join(o.offers, " "))));
    options += fmt::format("    {}) options={} ;;\n", c.name.empty() ? "''" : c.name,
                           shell_word(fmt::format("{}", fmt::join(options_of(c), " "))));
  }
  return fmt::format(
      R"(# bash completion for headway; written by the program itself.
_headway() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= options= offers= word
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
      {0}) command=$word; break ;;
    esac
  done
  COMPREPLY=()
  case $command,$prev in
{1}  esac
  case $command in
{2}  esac
  case $command in
{4}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -z $command ]]; then
    COMPREPLY=($(compgen -W '{3}' -- "$cur"))
  elif [[ -n $offers ]]; then
    COMPREPLY=($(compgen -W "$offers" -- "$cur"))
  fi
}}
complete -o default -F _headway headway
)",
      fmt::join(names, "|"), values, options, fmt::join(names, " "), positionals);
}

std::string zsh_completion(commands const& all) {
  auto const arguments = [](surface_command const& c) {
    std::string out;
    for (auto const& o : c.options) {
      auto const values =
          o.offers.empty() ? "_files" : fmt::format("({})", fmt::join(o.offers, " "));
      auto const what = replaced(o.what, "[]:\\", "\\");
      if (o.positional) {
        out += fmt::format(
            " \\\n    {}",
            shell_word(fmt::format("{}:{}:{}", o.repeatable ? "*" : "", o.names.front(), values)));
        continue;
      }
      for (auto const& name : o.names) {
        auto spec = fmt::format("{}{}[{}]", o.repeatable ? "*" : "", name, what);
        if (!o.value.empty()) spec += fmt::format(":{}:{}", o.value, values);
        out += fmt::format(" \\\n    {}", shell_word(spec));
      }
    }
    return out;
  };
  std::string names, cases;
  for (auto const& c : all) {
    if (c.name.empty()) continue;
    names += fmt::format(" {}\\:\"{}\"", c.name, replaced(summary(c), "\"\\$`:", "\\"));
    cases += fmt::format("  {}) _arguments{} ;;\n", c.name, arguments(c));
  }
  names = shell_word(fmt::format("1:command:(({}))", names));
  return fmt::format(
      R"(#compdef headway
# Written by the program itself.
_headway() {{
  local curcontext=$curcontext state line
  _arguments -C{} \
    {} \
    '*::argument:->rest'
  [[ $state == rest ]] || return
  case $words[1] in
{}  esac
}}
_headway "$@"
)",
      arguments(all.front()), names, cases);
}

std::string fish_completion(commands const& all) {
  auto const text = [](std::string_view plain) {
    return fmt::format("'{}'", replaced(plain, "'\\", "\\"));
  };
  std::string out = "# Written by the program itself.\n";
  for (auto const& c : all) {
    auto const when = c.name.empty() ? std::string("__fish_use_subcommand")
                                     : "__fish_seen_subcommand_from " + c.name;
    if (!c.name.empty())
      out += fmt::format("complete -c headway -n __fish_use_subcommand -xa {} -d {}\n", c.name,
                         text(summary(c)));
    for (auto const& o : c.options) {
      if (o.positional) {
        if (!o.offers.empty())
          out += fmt::format("complete -c headway -n {} -a {}\n", text(when),
                             text(fmt::format("{}", fmt::join(o.offers, " "))));
        continue;
      }
      out += fmt::format("complete -c headway -n {}", text(when));
      for (auto const& name : o.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!o.offers.empty())
        out += fmt::format(" -xa {}", text(fmt::format("{}", fmt::join(o.offers, " "))));
      else if (!o.value.empty())
        out += " -r";
      out += fmt::format(" -d {}\n", text(o.what));
    }
  }
  return out;
}

void add_generate(CLI::App& program, action& chosen) {
  auto* const generate = program.add_subcommand(
      "generate", "Writes the man page and completions below a folder, as share/ has them.");
  generate->group("");
  auto const folder = std::make_shared<std::string>();
  generate->add_option("FOLDER", *folder, "Folder, such as /usr/local/share")->required();
  generate->callback([&program, folder, &chosen] {
    chosen = [&program, folder] {
      auto const all = surface_of(program);
      for (auto const& [path, text] :
           {std::pair("man/man1/headway.1", man_page(all)),
            std::pair("bash-completion/completions/headway", bash_completion(all)),
            std::pair("zsh/site-functions/_headway", zsh_completion(all)),
            std::pair("fish/vendor_completions.d/headway.fish", fish_completion(all))}) {
        auto const whole = std::filesystem::path(*folder) / path;
        std::error_code error;
        std::filesystem::create_directories(whole.parent_path(), error);
        std::ofstream out(whole, std::ios::binary);
        if (!(out << text).flush())
          throw fatal(exit_io, fmt::format("cannot write {}", whole.string()));
      }
      return int{exit_ok};
    };
  });
}

}  // namespace headway::app
