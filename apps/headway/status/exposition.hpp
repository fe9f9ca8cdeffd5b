/// The text format in which Prometheus and its kin read figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "headway/time.hpp"

namespace headway::app {

/// Counts of times, by buckets that double from 1 ms to 524 s. Threads: a value.
class histogram {
 public:
  static constexpr std::size_t buckets = 20;
  /// Returns the upper bound of a bucket; beyond the last one there is none.
  static constexpr duration bound(std::size_t bucket) noexcept { return 1ms * (1 << bucket); }

  void add(duration) noexcept;
  void add(histogram const&) noexcept;

 private:
  friend class exposition;
  std::array<std::int64_t, buckets + 1> counts_{};
  duration sum_{0};
};

/// Builds a page of figures: families, each with its samples. Source: prometheus.io, "Exposition
/// formats", text-based format 0.0.4.
class exposition {
 public:
  enum class kind : std::uint8_t { counter, gauge, histogram };
  using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  static constexpr std::string_view type = "text/plain; version=0.0.4; charset=utf-8";

  /// Begins a family. It is left out where no sample follows.
  void family(std::string_view name, kind, std::string_view help);
  /// Adds a sample to the family. Nothing where `value` is not a number: it is not known.
  void sample(labels const&, double value);
  void sample(labels const&, std::int64_t value);
  /// Adds a sample to a family of histograms, in seconds.
  void sample(labels const&, class histogram const&);

  std::string const& text() const noexcept { return text_; }

 private:
  void line(std::string_view suffix, labels const&, std::string_view bound, std::string_view value);

  std::string name_, head_;  // of the family; the head until its first sample
  std::string text_;
};

}  // namespace headway::app
