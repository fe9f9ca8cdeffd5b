#include "pacing/cost_model.hpp"

#include <algorithm>

namespace headway::app {

void cost_model::learn(double bytes, double units) noexcept {
  if (!(bytes >= 0 && bytes < 1e12 && units >= 0 && units < 1e12)) return;
  last_[seen_++ % kept_max] = {bytes, units};
  fit();

  std::array<double, kept_max> above{};
  auto const count = kept();
  for (std::size_t i = 0; i < count; ++i)
    above[i] = last_[i].units / std::max(slope_ * last_[i].bytes + constant_, 1e-9);
  auto const nine_of_ten = count * 9 / 10;
  auto const at = above.begin() + static_cast<std::ptrdiff_t>(nine_of_ten);
  std::nth_element(above.begin(), at, above.begin() + static_cast<std::ptrdiff_t>(count));
  raise_ = std::clamp(*at, 1.0, 100.0) * (count < few ? raise_of_few : 1);
}

void cost_model::fit() noexcept {
  auto const count = kept();
  auto const n = static_cast<double>(count);
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    x += last_[i].bytes;
    y += last_[i].units;
    xx += last_[i].bytes * last_[i].bytes;
    xy += last_[i].bytes * last_[i].units;
  }
  auto const spread = n * xx - x * x;
  slope_ = spread > 1e-9 * n * xx ? (n * xy - x * y) / spread : 0;
  constant_ = (y - slope_ * x) / n;
  if (slope_ <= 0 && spread > 0 && count < few) slope_ = -1;  // too few to say that size is nothing
  if (slope_ < 0 || constant_ < 0 || count < 2) {
    auto const by_size = x > 0 && (constant_ < 0 || count < few);
    slope_ = by_size ? y / x : 0;
    constant_ = by_size ? 0 : y / n;
  }
}

}  // namespace headway::app
