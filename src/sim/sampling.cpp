#include "headway/sim/sampling.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace headway::sim {
namespace {

// ln 2 in two parts; multiples of the first by an exponent are exact.
constexpr double ln2_upper = 0x1.62e42feep-1;
constexpr double ln2_lower = 0x1.a39ef35793c76p-33;

/// In the middle of one of 2^52 equal parts of (0, 1): never 0 or 1, symmetric about a half.
double inside(fraction u) noexcept {
  return (static_cast<double>(u >> 12) + 0.5) * 0x1p-52;
}

template <std::size_t N>
double polynomial(double const (&coefficients)[N], double x) noexcept {
  double sum = coefficients[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace

double ln(double x) noexcept {
  auto const bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  auto m = std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++exponent;
  }
  // m is in [√½, √2]: ln m = 2 artanh s, s² < 0.0295.
  double const s = (m - 1) / (m + 1);
  static constexpr double odd[] = {1,        1. / 3,  1. / 5,  1. / 7,  1. / 9, 1. / 11,
                                   1. / 13., 1. / 15, 1. / 17, 1. / 19, 1. / 21};
  double const e = exponent;
  return e * ln2_upper + (2 * s * polynomial(odd, s * s) + e * ln2_lower);
}

double exp(double x) noexcept {
  double const halves = x * 1.4426950408889634;
  auto const k = static_cast<int>(halves + (x < 0 ? -0.5 : 0.5));
  double const r = (x - k * ln2_upper) - k * ln2_lower;  // |r| < 0.35
  double sum = 1;
  for (int i = 14; i > 0; --i) sum = 1 + sum * r / i;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

double normal(fraction u) noexcept {
  static constexpr double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                 1.9715909503065514427e3, 1.3731693765509461125e4,
                                 4.5921953931549871457e4, 6.7265770927008700853e4,
                                 3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double b[] = {1,
                                 4.2313330701600911252e1,
                                 6.8718700749205790830e2,
                                 5.3941960214247511077e3,
                                 2.1213794301586595867e4,
                                 3.9307895800092710610e4,
                                 2.8729085735721942674e4,
                                 5.2264952788528545610e3};
  static constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                 5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0,  2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  static constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
  double const p = inside(u);
  double const q = p - 0.5;
  if (q <= 0.425 && q >= -0.425) {
    double const r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  double const r = std::sqrt(-ln(q < 0 ? p : 1 - p));
  double const z = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                          : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -z : z;
}

double lognormal_share(double cv, fraction u) noexcept {
  double const variance = ln(1 + cv * cv);
  return exp(std::sqrt(variance) * normal(u) - variance / 2);
}

duration exponential::draw(fraction u) const noexcept {
  return from_nanoseconds(static_cast<double>(mean.count()) * -ln(1 - inside(u)));
}

duration lognormal::draw(fraction u) const noexcept {
  return from_nanoseconds(static_cast<double>(mean.count()) * lognormal_share(cv, u));
}

duration mixture::draw(fraction u) const noexcept {
  double all = 0;
  for (part const& p : parts) all += p.weight;
  double left = unit(derive(u, 0)) * all;
  auto chosen = parts.begin();
  while (left >= chosen->weight && chosen + 1 != parts.end()) left -= chosen++->weight;
  return std::visit([u](auto const& d) { return d.draw(derive(u, 1)); }, chosen->of);
}

}  // namespace headway::sim
