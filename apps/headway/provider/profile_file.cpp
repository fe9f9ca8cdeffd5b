#include "provider/profile_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "provider/profile_reader.hpp"

namespace headway::app {

namespace {

/// Reads one profile, and says where it is wrong.
class reader : public profile_reader {
 public:
  using profile_reader::profile_reader;

  /// The tables of an array of them; `otherwise` is the error.
  std::vector<toml::table const*> tables(toml::node const& node, std::string_view otherwise) const {
    auto const* list = node.as_array();
    if (list == nullptr) wrong(node, "{}", otherwise);
    std::vector<toml::table const*> found;
    for (auto const& element : *list) {
      if (!element.is_table()) wrong(element, "{}", otherwise);
      found.push_back(element.as_table());
    }
    return found;
  }

  status_range status(toml::node const& node) const {
    status_range range;
    if (auto const one = node.value<std::int64_t>(); one && node.is_integer()) {
      range.from = range.to = static_cast<int>(std::clamp<std::int64_t>(*one, 0, 1000));
    } else if (auto const words = node.value<std::string>(); words && words->size() == 7) {
      auto const number = [&](std::size_t at) {
        int n = 0;
        for (char const c : words->substr(at, 3)) n = c < '0' || c > '9' ? 1000 : n * 10 + c - '0';
        return n;
      };
      if ((*words)[3] == '-') range = {number(0), number(4)};
    }
    if (range.from < 100 || range.to > 599 || range.from > range.to)
      wrong(node, "'status' must be like 429 or \"500-599\", from 100 to 599");
    return range;
  }

  rule read_rule(toml::table const& table) const {
    rule r;
    bool means = false;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "status") {
        if (auto const* list = node.as_array())
          for (auto const& element : *list) r.status.push_back(status(element));
        else
          r.status.push_back(status(node));
      } else if (k == "header") {
        r.header = lower(text(node, k));
      } else if (k == "pointer") {
        r.pointer = pointer(node, k);
      } else if (k == "xml") {
        r.xml = text(node, k);
      } else if (k == "in") {
        r.in = texts(node, k);
      } else if (k == "contains") {
        r.contains = texts(node, k);
      } else if (k == "means") {
        auto const name = text(node, k);
        auto const found = reaction_named(name);
        if (!found) wrong(node, "'means' is '{}'; known are {}", name, reaction_names());
        r.means = *found;
        means = true;
      } else if (k == "hold") {
        try {
          r.hold = parse_patience(text(node, k));
        } catch (std::invalid_argument const& e) {
          wrong(node, "'hold': {}", e.what());
        }
      } else if (k == "hold-pointer") {
        r.hold_pointer = pointer(node, k);
      } else if (k == "remainder") {
        r.remainder = pointer(node, k);
      } else if (k == "into") {
        r.into = text(node, k);
      } else if (k == "limit") {
        r.limit = pointer(node, k);
      } else if (k == "limit-name") {
        r.limit_name = pointer(node, k);
      } else if (k == "collect") {
        r.collect = text(node, k);
      } else if (k == "bulk") {
        auto const is = node.value<bool>();
        if (!node.is_boolean()) wrong(node, "'bulk' must be true or false");
        r.bulk = *is;
      } else {
        wrong(node,
              "'{}' is not a key of a rule; known are status, header, pointer, xml, in, contains, "
              "means, hold, hold-pointer, remainder, into, collect, bulk, limit, limit-name",
              k);
      }
    }
    if (!means) wrong(table, "a rule needs 'means'");
    if (r.remainder.empty() != r.into.empty()) wrong(table, "'remainder' and 'into' go together");
    if (r.limit.empty() != r.limit_name.empty())
      wrong(table, "'limit' and 'limit-name' go together");
    if (!r.collect.empty() && r.remainder.empty()) wrong(table, "'collect' needs 'remainder'");
    if (r.bulk && (r.pointer != "/items/*/*/status" || r.in.empty() || !r.remainder.empty()))
      wrong(table, "'bulk' needs pointer = \"/items/*/*/status\" and 'in', and no 'remainder'");
    if (r.pointer.empty() && r.xml.empty() && r.header.empty() && !r.in.empty())
      wrong(table, "'in' needs pointer, xml or header, whose text it is");
    return r;
  }

  void read_scope(toml::node const& scope, std::vector<std::string>& paths,
                  std::vector<std::string>& fields) const {
    if (!scope.is_table()) wrong(scope, "'scope' must be written [scope]");
    for (auto const& [key, node] : *scope.as_table()) {
      auto const k = key.str();
      if (k == "path")
        paths = pointers(node, k);
      else if (k == "pointer")
        fields = pointers(node, k);
      else
        wrong(node, "'{}' is not a key of a scope; known are path, pointer", k);
    }
  }

  quota_rule read_quota(toml::table const& table) const {
    quota_rule q;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "name")
        q.name = text(node, k);
      else if (k == "limit")
        q.limit = pointer(node, k);
      else if (k == "remaining")
        q.remaining = pointer(node, k);
      else if (k == "restore")
        q.restore = pointer(node, k);
      else
        wrong(node, "'{}' is not a key of a quota; known are name, limit, remaining, restore", k);
    }
    if (q.name.empty() || q.limit.empty() || q.remaining.empty() || q.restore.empty())
      wrong(table, "a quota needs 'name', 'limit', 'remaining' and 'restore'");
    return q;
  }

  /// Names of what prices count, and where an answer says it.
  std::vector<cost_rule> read_usage(toml::node const& usage) const {
    if (!usage.is_table()) wrong(usage, "'usage' must be written [usage]");
    std::vector<cost_rule> all;
    for (auto const& [key, node] : *usage.as_table())
      all.push_back({.quota = std::string(key.str()), .pointer = pointers(node, key.str())});
    return all;
  }

  /// Currencies, and what one of each part costs in them.
  std::vector<price> read_prices(toml::node const& prices) const {
    std::vector<price> all;
    if (!prices.is_table()) wrong(prices, "'price' must be written [price]");
    for (auto const& [currency, node] : *prices.as_table()) {
      auto const* const parts = node.as_table();
      if (parts == nullptr || parts->empty())
        wrong(node, "'{}' must be like {{ input = \"0.15/M\" }}", std::string_view(currency.str()));
      price one{.name = std::string(currency.str()), .parts = {}};
      for (auto const& [part, amount] : *parts) try {
          one.parts.emplace_back(part.str(), parse_price_of_one(text(amount, part.str())));
        } catch (std::invalid_argument const& e) {
          wrong(amount, "{}", e.what());
        }
      all.push_back(std::move(one));
    }
    return all;
  }

  cost_rule read_cost(toml::table const& table) const {
    cost_rule c;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "quota") {
        c.quota = text(node, k);
      } else if (k == "pointer") {
        c.pointer = pointers(node, k);
      } else if (k == "sized") {
        c.sized = pointers(node, k);
      } else if (k == "reserve") {
        c.reserve = pointers(node, k);
      } else if (k == "per-byte") {
        auto const number = node.value<double>();
        if (!number || !(*number > 0 && *number <= 1e6))
          wrong(node, "'per-byte' must be a number above 0 and up to 1000000");
        c.per_byte = *number;
      } else {
        wrong(node,
              "'{}' is not a key of a cost; known are quota, pointer, sized, reserve, per-byte", k);
      }
    }
    if (c.quota.empty() || c.pointer.empty()) wrong(table, "a cost needs 'quota' and 'pointer'");
    return c;
  }

 private:
  std::vector<std::string> pointers(toml::node const& node, std::string_view key) const {
    std::vector<std::string> all;
    if (auto const* list = node.as_array())
      for (auto const& element : *list) all.push_back(pointer(element, key));
    else
      all.push_back(pointer(node, key));
    return all;
  }

  std::string pointer(toml::node const& node, std::string_view key) const {
    auto p = text(node, key);
    if (p.front() != '/') wrong(node, "'{}' must begin with / (RFC 6901)", key);
    return p;
  }
};

}  // namespace

std::shared_ptr<profile_rules const> read_profile(std::string_view toml_text,
                                                  std::string const& file) {
  auto r = std::make_shared<profile_rules>();
  r->name = file;
  try {
    auto const all = toml::parse(toml_text, file);
    reader const in(file);
    for (auto const& [key, node] : all) {
      if (key == "about") {
        in.text(node, "about");
      } else if (key == "hosts") {
        r->hosts = in.texts(node, "hosts");
      } else if (key == "rule") {
        for (auto const* table : in.tables(node, "'rule' must be written [[rule]]"))
          r->list.push_back(in.read_rule(*table));
      } else if (key == "quota") {
        for (auto const* table : in.tables(node, "'quota' must be written [[quota]]"))
          r->quotas.push_back(in.read_quota(*table));
      } else if (key == "scope") {
        in.read_scope(node, r->paths, r->fields);
      } else if (key == "usage") {
        r->usage = in.read_usage(node);
      } else if (key == "price") {
        r->prices = in.read_prices(node);
      } else if (key == "computes") {
        r->computes = in.texts(node, "computes");
      } else if (key == "cost" && node.is_table()) {
        r->costs.push_back(in.read_cost(*node.as_table()));
      } else if (key == "cost") {
        for (auto const* table : in.tables(node, "'cost' must be written [cost] or [[cost]]"))
          r->costs.push_back(in.read_cost(*table));
      } else {
        in.wrong(
            node,
            "'{}' is not a key here; known are about, hosts, computes, scope, rule, quota, cost, "
            "usage, price",
            std::string_view(key.str()));
      }
    }
  } catch (toml::parse_error const& e) {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", file, e.source().begin.line, e.description()));
  }
  return r;
}

}  // namespace headway::app
