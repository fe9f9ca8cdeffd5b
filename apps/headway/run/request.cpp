#include "run/request.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "base/words.hpp"
#include "os/file.hpp"

namespace headway::app {

std::optional<std::string_view> request::body() const noexcept {
  if (what.body_file) return content;
  if (what.body) return *what.body;
  return std::nullopt;
}

bool request::read_body_file() {
  auto const& path = *what.body_file;
  // It may have become a pipe since JOBS was checked, and that is not waited for.
  file const in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), path);
  if (!in.regular()) return false;
  content.resize(static_cast<std::size_t>(in.size()));
  std::size_t bytes = 0;
  while (bytes < content.size()) {
    auto const n = ::read(in.fd(), content.data() + bytes, content.size() - bytes);
    if (n < 0) return false;
    if (n == 0) break;
    bytes += static_cast<std::size_t>(n);
  }
  content.resize(bytes);
  return true;
}

load load_of(request const& r) {
  load what{.cost = r.what.cost,
            .size = {.given = r.what.costs},
            .failures = r.broken,
            .throttles = r.refusals,
            .turn_only = static_cast<bool>(r.bound_for)};
  if (r.what.body_file) {
    std::error_code missing;  // it is told when it is to go
    auto const bytes = std::filesystem::file_size(*r.what.body_file, missing);
    if (!missing) what.size.bytes = static_cast<double>(bytes);
  } else if (r.what.body) {
    what.size.bytes = static_cast<double>(r.what.body->size());
    what.size.reserved = r.where->speaks().reserved_by(*r.what.body);
  }
  return what;
}

std::string words_of(request const& r, time_point now) {
  auto const often = fmt::format("attempt {}", r.attempts + (r.out ? 0 : 1));
  if (r.out)
    return fmt::format("in flight to {} for {}, {}", r.where->title(), in_words(now - r.sent),
                       often);
  auto const held = r.where->why(now);
  auto text = fmt::format("waits in the queue of {} for {}, for {}{}{}", r.where->title(),
                          in_words(now - r.read), often,
                          held.why == reason::none ? std::string()
                                                   : fmt::format("; what holds the first there: {}",
                                                                 r.where->name_of(held.why)),
                          held.why != reason::none && held.until != never && held.until > now
                              ? fmt::format(", for {}", in_words(held.until - now))
                              : "");
  if (r.throttled > 0) text += fmt::format("; throttled {} times", r.throttled);
  if (!r.said.empty()) text += ", last: " + printable(r.said);
  return text;
}

std::uint32_t requests::add(request&& r) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(all_.size()));
    all_.emplace_back();
  }
  auto const index = free_.back();
  free_.pop_back();
  all_[index] = std::move(r);
  weigh(index);
  return index;
}

void requests::forget(std::uint32_t index) {
  bytes_ -= all_[index].weighed;
  all_[index] = {};
  free_.push_back(index);
}

void requests::reduce(std::uint32_t index, std::string remainder, std::string_view so_far) {
  auto& r = all_[index];
  r.what.body = std::move(remainder);
  r.what.body_file.reset();
  r.so_far = so_far;
  r.broken = r.refusals = 0;  // it got on
  weigh(index);
}

void requests::weigh(std::uint32_t index) noexcept {
  auto& r = all_[index];
  bytes_ -= r.weighed;
  r.weighed = r.what.url.size() + (r.what.body ? r.what.body->size() : 0) + r.what.meta.size() +
              r.so_far.size();
  bytes_ += r.weighed;
}

}  // namespace headway::app
