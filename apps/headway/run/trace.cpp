#include "run/trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "command.hpp"
#include "run/result.hpp"

namespace headway::app {

trace::trace(std::string const& path) : path_(path) {
  auto const fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd >= 0) file_.reset(fdopen(fd, "w"));
  if (!file_) throw fatal(exit_io, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

trace::~trace() = default;

void trace::settings(std::string_view law, governor_settings const& s, time_point now) {
  began_ = now;
  auto const ceiling = s.rate_ceiling.value_or(gcra{.interval = 0ns});
  write(fmt::format(
      R"({{"headway":"{}","law":"{}","attempts_max":{},"queue_max":{},"hint_max":{},"first_alone":{},)"
      R"("throttled":{},"in_flight_max":{},"ceiling_interval":{},"ceiling_burst_tolerance":{}}})",
      HEADWAY_VERSION, law, s.attempts_max, s.queue_max, s.hint_max.count(), s.first_alone.count(),
      static_cast<int>(s.throttled), s.in_flight_max, ceiling.interval.count(),
      ceiling.burst_tolerance.count()));
}

void trace::scope(int scope, std::string_view name) {
  std::string quoted;
  append_quoted(quoted, name);
  write(fmt::format(R"({{"scope":{},"name":{}}})", scope, quoted));
}

void trace::submit(int scope, time_point now, request_terms const& terms, ticket t) {
  write(fmt::format(R"({{"t":{},"scope":{},"call":"submit","cost":{},"ticket":{}}})", since(now),
                    scope, terms.cost, static_cast<std::uint64_t>(t)));
}

void trace::start(int scope, time_point now, ticket t, fraction u) {
  write(fmt::format(R"({{"t":{},"scope":{},"call":"start","ticket":{},"u":{}}})", since(now), scope,
                    static_cast<std::uint64_t>(t), u));
}

void trace::finish(int scope, time_point now, ticket t, attempt_result const& r, fraction u) {
  auto const hint = r.advice.retry_after
                        ? fmt::format(R"(,"retry_after":{})", r.advice.retry_after->count())
                        : "";
  write(fmt::format(
      R"({{"t":{},"scope":{},"call":"finish","ticket":{},"outcome":{},"resource":{},"may_retry":{}{},"u":{}}})",
      since(now), scope, static_cast<std::uint64_t>(t), static_cast<int>(r.what),
      static_cast<int>(r.short_of), r.may_retry, hint, u));
}

void trace::cancel(int scope, time_point now, ticket t) {
  write(fmt::format(R"({{"t":{},"scope":{},"call":"cancel","ticket":{}}})", since(now), scope,
                    static_cast<std::uint64_t>(t)));
}

void trace::write(std::string_view line) {
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
      std::fputc('\n', file_.get()) == EOF)
    throw fatal(exit_io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

}  // namespace headway::app
