#include "mock/completions.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "base/quantity.hpp"

namespace headway::app {
namespace {

constexpr double burst_max = 1e9;
constexpr std::int64_t max_tokens_default = 256;
constexpr std::int64_t max_tokens_max = 1'000'000;

/// What the request asks for at most.
std::int64_t max_tokens_of(std::string_view body) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element json;
  if (parser.parse(simdjson::padded_string(body)).get(json) != simdjson::SUCCESS)
    return max_tokens_default;
  for (auto const* const key : {"/max_completion_tokens", "/max_tokens"})
    if (std::int64_t n = 0; json.at_pointer(key).get(n) == simdjson::SUCCESS)
      return std::clamp<std::int64_t>(n, 1, max_tokens_max);
  return max_tokens_default;
}

std::string refusal_of(refilling const& q, double requested, duration again) {
  return fmt::format(
      R"({{"error":{{"message":"Rate limit reached for mock on {} per min: Limit {:.0f}, Used {:.0f}, )"
      R"(Requested {:.0f}. Please try again in {}.","type":"{}","param":null,)"
      R"("code":"rate_limit_exceeded"}}}})",
      q.what, q.capacity, std::ceil(q.capacity - q.level), requested, go_duration(again), q.what);
}

}  // namespace

void refilling::refill(time_point now) noexcept {
  level = std::min(capacity, level + per_second * to_seconds(now - as_of));
  as_of = now;
}

duration refilling::until(double units) const noexcept {
  return from_seconds(std::max(0.0, units - level) / per_second);
}

refilling parse_refilling(std::string_view what, std::string_view text) {
  auto const comma = std::min(text.find(','), text.size());
  auto const [units, period] = parse_rate(text.substr(0, comma));
  refilling q{.what = what, .per_second = units / to_seconds(period), .capacity = units};
  if (comma < text.size()) {
    auto const setting = text.substr(comma + 1);
    auto const digits = setting.substr(std::min(setting.find('=') + 1, setting.size()));
    auto const* const last = digits.data() + digits.size();
    std::int64_t burst = 0;
    auto const [end, wrong] = std::from_chars(digits.data(), last, burst);
    if (!setting.starts_with("burst=") || wrong != std::errc{} || end != last || burst < 1 ||
        static_cast<double>(burst) > burst_max)
      throw std::invalid_argument(fmt::format(
          "'{}' is not burst=N with a whole number from 1 to {:.0f}", setting, burst_max));
    q.capacity = static_cast<double>(burst);
  }
  q.capacity = std::max(q.capacity, 1.0);
  q.level = q.capacity;
  return q;
}

completions::completions(std::optional<refilling> requests, std::optional<refilling> tokens)
    : requests_(requests), tokens_(tokens) {}

completion completions::arrive(time_point now, std::string_view body, fraction u) {
  completion told;
  auto const max_tokens = max_tokens_of(body);
  told.prompt = std::max<std::int64_t>(static_cast<std::int64_t>(body.size()) / 4, 1);
  told.completed = 1 + static_cast<std::int64_t>(static_cast<double>(max_tokens - 1) * unit(u));
  auto const charge = told.prompt + max_tokens;

  auto const has_room = [&](std::optional<refilling>& q, double units) {
    if (!q) return true;
    q->refill(now);
    if (units <= q->level) return true;
    if (!told.refusal.empty()) return false;
    if (units <= q->capacity) told.again = q->until(units);
    told.refusal = refusal_of(*q, units, told.again.value_or(0s));
    return false;
  };
  auto const requests_fit = has_room(requests_, 1);
  auto const tokens_fit = has_room(tokens_, static_cast<double>(charge));
  if (requests_fit && tokens_fit) {
    told.charged = charge;
    if (requests_) requests_->level -= 1;
    if (tokens_) tokens_->level -= static_cast<double>(charge);
  }
  for (auto const* const q : {&requests_, &tokens_}) {
    if (!*q) continue;
    auto const field = [&](std::string_view kind, std::string value) {
      told.fields.emplace_back(fmt::format("x-ratelimit-{}-{}", kind, (*q)->what),
                               std::move(value));
    };
    field("limit", fmt::format("{:.0f}", (*q)->capacity));
    field("remaining", fmt::format("{:.0f}", std::floor((*q)->level)));
    field("reset", go_duration((*q)->until((*q)->capacity)));
  }
  return told;
}

std::string answer_of(completion const& c, std::uint64_t number) {
  return fmt::format(
      R"({{"id":"chatcmpl-{}","object":"chat.completion","choices":[{{"index":0,"message":)"
      R"({{"role":"assistant","content":"ok"}},"finish_reason":"stop"}}],"usage":)"
      R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}}}})",
      number, c.prompt, c.completed, c.prompt + c.completed);
}

std::string go_duration(duration d) {
  auto const ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(d, duration(0))).count();
  if (ms < 1000) return fmt::format("{}ms", ms);
  auto const hours = ms / 3'600'000, minutes = ms / 60'000 % 60;
  std::string text;
  if (hours > 0) text += fmt::format("{}h", hours);
  if (hours > 0 || minutes > 0) text += fmt::format("{}m", minutes);
  return text + fmt::format("{}s", static_cast<double>(ms % 60'000) / 1000);
}

}  // namespace headway::app
