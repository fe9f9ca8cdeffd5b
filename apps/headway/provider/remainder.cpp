#include "provider/remainder.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/json_text.hpp"

namespace headway::app {
namespace {

/// The members of an object; none where the text is not one.
std::vector<json_member> members_in(std::string_view text) {
  thread_local simdjson::dom::parser parser;
  try {
    parse_object(parser, text);
    return members_of(text);
  } catch (std::invalid_argument const&) {
    return {};
  }
}

std::string_view name_of(json_member const& m) noexcept {
  return m.whole.substr(1, m.whole.find('"', 1) - 1);
}

std::string_view member(std::vector<json_member> const& all, std::string_view name) noexcept {
  auto const found = std::ranges::find(all, name, name_of);
  return found == all.end() ? std::string_view() : found->value;
}

/// What is between the brackets of a list; nullopt where it is none.
std::optional<std::string_view> inside(std::string_view list) noexcept {
  if (!list.starts_with('[')) return std::nullopt;
  return list.substr(1, list.size() - 2);
}

/// An object with another value for one of its members.
std::string with(std::vector<json_member> const& members, std::string_view name,
                 std::string_view value) {
  std::string text = "{";
  for (auto const& m : members) {
    if (text.size() > 1) text += ',';
    if (name_of(m) == name)
      fmt::format_to(std::back_inserter(text), "\"{}\":{}", name, value);
    else
      text += m.whole;
  }
  return text + '}';
}

/// What became of one operation: {"index": {"status": 429, "error": …}}.
struct item {
  std::string_view whole;
  std::string_view kind;
  std::string_view status;
  bool error = false;
};

std::vector<item> items_of(std::vector<json_member> const& answer) {
  std::vector<item> all;
  auto const list = member(answer, "items");
  if (!inside(list)) return all;
  for (auto const element : elements_of(list)) {
    item i;
    i.whole = element;
    if (element.starts_with('{'))
      if (auto const kinds = members_of(element); kinds.size() == 1) {
        i.kind = name_of(kinds.front());
        if (kinds.front().value.starts_with('{')) {
          auto const said = members_of(kinds.front().value);
          i.status = member(said, "status");
          i.error = !member(said, "error").empty();
        }
      }
    all.push_back(i);
  }
  return all;
}

bool is_one_of(std::string_view text, std::span<std::string const> all) noexcept {
  return std::ranges::any_of(all, [&](auto const& one) { return one == text; });
}

}  // namespace

std::optional<remainder> with_member(std::string_view request, std::string_view into,
                                     std::string_view rest) {
  auto const members = members_in(request);
  auto const before = member(members, into);
  if (before.empty()) return std::nullopt;
  return remainder{
      .body = with(members, into, rest),
      .share = static_cast<double>(rest.size()) / static_cast<double>(compact(before).size())};
}

std::string with_lists(std::string_view earlier, std::string_view later, std::string_view collect) {
  auto const now = members_in(later);
  auto const before = members_in(earlier);
  auto const lists = member(now, collect);
  auto const lists_before = member(before, collect);
  if (!lists.starts_with('{') || !lists_before.starts_with('{')) return std::string(later);
  auto const added = members_of(lists);
  std::string both = "{";
  auto const append = [&](std::string_view name, std::string_view first, std::string_view second) {
    auto const comma = first.empty() || second.empty() ? "" : ",";
    fmt::format_to(std::back_inserter(both), "{}\"{}\":[{}{}{}]", both.size() > 1 ? "," : "", name,
                   first, comma, second);
  };
  auto const content = [](std::string_view list) {
    auto const text = inside(list).value_or("");
    return text.find_first_not_of(" \t\r\n") == text.npos ? std::string_view() : text;
  };
  auto const had = members_of(lists_before);
  for (auto const& m : had)
    append(name_of(m), content(m.value), content(member(added, name_of(m))));
  for (auto const& m : added)
    if (member(had, name_of(m)).empty()) append(name_of(m), "", content(m.value));
  return with(now, collect, both + '}');
}

std::optional<remainder> refused_operations(std::string_view request, std::string_view answer,
                                            std::span<std::string const> statuses) {
  auto const line = [&] {
    auto const end = std::min(request.find('\n'), request.size());
    auto const text = request.substr(0, end);
    request.remove_prefix(std::min(end + 1, request.size()));
    return text;
  };
  remainder rest;
  std::size_t again = 0;
  auto const items = items_of(members_in(answer));
  for (auto const& i : items) {
    if (request.empty() || i.kind.empty()) return std::nullopt;
    bool const refused = is_one_of(i.status, statuses);
    again += refused;
    for (int lines = i.kind == "delete" ? 1 : 2; lines > 0; --lines) {
      auto const text = line();
      if (text.empty()) return std::nullopt;
      if (refused) (rest.body += text) += '\n';
    }
  }
  if (again == 0 || request.find_first_not_of("\r\n") != request.npos) return std::nullopt;
  rest.share = static_cast<double>(again) / static_cast<double>(items.size());
  return rest;
}

std::string with_items(std::string_view earlier, std::string_view later,
                       std::span<std::string const> statuses) {
  auto const now = members_in(later);
  auto const before = members_in(earlier);
  auto const fresh = items_of(now);
  std::string text = "[";
  bool errors = false;
  auto next = fresh.begin();
  for (auto i : items_of(before)) {
    if (is_one_of(i.status, statuses)) {
      if (next == fresh.end()) return std::string(later);
      i = *next++;
    }
    if (text.size() > 1) text += ',';
    text += i.whole;
    errors = errors || i.error;
  }
  if (next != fresh.end() || fresh.empty()) return std::string(later);
  auto const merged = with(now, "items", text + ']');
  return with(members_of(merged), "errors", errors ? "true" : "false");
}

}  // namespace headway::app
