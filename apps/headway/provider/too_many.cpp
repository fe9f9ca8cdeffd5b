#include "provider/too_many.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/text.hpp"

namespace headway::app {
namespace {

/// Its letters and digits alone: "rate limit", "RATE_LIMITED" and "rateLimit" are one word.
std::string plain(std::string_view text) {
  std::string letters;
  if (text.size() > too_many_looked_at) return letters;
  for (char const c : text)
    if (is_alphanumeric(c)) letters += lower(c);
  return letters;
}

bool has(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

bool is_too_many(std::string_view letters) {
  return has(letters, {"ratelimit", "throttl", "toomanyrequests", "requestlimit", "overquerylimit",
                       "quotaexceeded", "code429", "status429"});
}

}  // namespace

bool may_pass(int status) noexcept {
  constexpr int never[] = {401, 404, 405, 406, 407, 408, 410, 411, 412, 414,
                           415, 416, 417, 421, 422, 426, 428, 429, 431, 451};
  return status >= 400 && status <= 499 && !std::ranges::binary_search(never, status);
}

bool says_too_many(std::string_view text) {
  return is_too_many(plain(text));
}

bool says_too_many_now(std::string_view text) {
  auto const letters = plain(text);
  return is_too_many(letters) &&
         !has(letters, {"quota", "billing", "credit", "payment", "balance", "insufficient", "daily",
                        "perday", "inaday", "24h", "monthly", "permonth"});
}

}  // namespace headway::app
