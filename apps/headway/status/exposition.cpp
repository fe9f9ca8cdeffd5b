#include "status/exposition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_text.hpp"

namespace headway::app {
namespace {

constexpr std::array<std::string_view, 3> kind_names = {"counter", "gauge", "histogram"};

std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : in_utf8(text)) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || c == '"')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

}  // namespace

void histogram::add(duration took) noexcept {
  std::size_t bucket = 0;
  while (bucket < buckets && took > bound(bucket)) ++bucket;
  ++counts_[bucket];
  sum_ += std::max(took, duration(0));
}

void histogram::add(histogram const& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  sum_ += other.sum_;
}

void exposition::family(std::string_view name, kind what, std::string_view help) {
  name_ = name;
  head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help,
                      kind_names.at(static_cast<std::size_t>(what)));
}

void exposition::sample(labels const& of, double value) {
  if (!std::isnan(value)) line("", of, "", fmt::format("{}", value));
}

void exposition::sample(labels const& of, std::int64_t value) {
  line("", of, "", fmt::format("{}", value));
}

void exposition::sample(labels const& of, class histogram const& h) {
  std::int64_t so_far = 0;
  for (std::size_t i = 0; i < h.counts_.size(); ++i) {
    so_far += h.counts_[i];
    auto const bound =
        i < histogram::buckets ? fmt::format("{}", to_seconds(histogram::bound(i))) : "+Inf";
    line("_bucket", of, bound, fmt::format("{}", so_far));
  }
  line("_sum", of, "", fmt::format("{}", to_seconds(h.sum_)));
  line("_count", of, "", fmt::format("{}", so_far));
}

void exposition::line(std::string_view suffix, labels const& of, std::string_view bound,
                      std::string_view value) {
  text_ += std::exchange(head_, {});
  text_.append(name_).append(suffix);
  auto separator = '{';
  auto const add = [&](std::string_view name, std::string_view what) {
    text_ += std::exchange(separator, ',');
    text_.append(name).append("=\"").append(escaped(what)).append("\"");
  };
  for (auto const& [name, what] : of) add(name, what);
  if (!bound.empty()) add("le", bound);
  if (separator == ',') text_ += '}';
  text_.append(" ").append(value).append("\n");
}

}  // namespace headway::app
