/// What the files of all kinds of profiles have in common.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fatal.hpp"

namespace headway::app {

/// Reads values of one file, and says where it is wrong. Errors of all: fatal(exit_usage).
class profile_reader {
 public:
  explicit profile_reader(std::string const& file) : file_(file) {}

  template <class... Args>
  [[noreturn]] void wrong(toml::node const& where, fmt::format_string<Args...> text,
                          Args&&... args) const {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", file_, where.source().begin.line,
                                        fmt::format(text, std::forward<Args>(args)...)));
  }

  std::string text(toml::node const& node, std::string_view key) const {
    auto const value = node.value<std::string>();
    if (!value || value->empty()) wrong(node, "'{}' must be text", key);
    return *value;
  }

  std::vector<std::string> texts(toml::node const& node, std::string_view key) const {
    auto const* list = node.as_array();
    if (list == nullptr || list->empty()) wrong(node, "'{}' must be a list of texts", key);
    std::vector<std::string> all;
    for (auto const& element : *list) all.push_back(text(element, key));
    return all;
  }

 private:
  std::string const& file_;
};

}  // namespace headway::app
