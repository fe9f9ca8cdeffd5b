#include "headway/postgres/connection.hpp"

#include <fcntl.h>
#include <libpq-fe.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <system_error>
#include <utility>

#include "headway/driver/clock.hpp"

namespace headway::postgres {
namespace {

using namespace std::chrono_literals;

// pg_type.dat, by which clients have known them since 1997.
constexpr unsigned boolean = 16, bytea = 17, bigint = 20, integer = 23, utf8 = 25, float8 = 701,
                   bytea_array = 1001, text_array = 1009, bigint_array = 1016;

template <class Integer>
std::string big_endian(Integer value) {
  auto const bits = static_cast<std::make_unsigned_t<Integer>>(value);
  std::string out;
  for (auto shift = 8 * sizeof bits; shift > 0; shift -= 8)
    out += static_cast<char>(bits >> (shift - 8) & 0xff);
  return out;
}

std::string_view characters(std::span<std::byte const> bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// One dimension, from 1, without nulls, as array_recv() reads it.
template <class Values, class Encode>
std::string array(unsigned element, Values const& values, Encode encode) {
  auto out = big_endian(std::int32_t{values.empty() ? 0 : 1}) + big_endian(std::int32_t{0}) +
             big_endian(element);
  if (!values.empty())
    out += big_endian(static_cast<std::int32_t>(values.size())) + big_endian(std::int32_t{1});
  for (auto const& value : values) {
    auto const encoded = encode(value);
    out += big_endian(static_cast<std::int32_t>(encoded.size()));
    out += encoded;
  }
  return out;
}

struct finish {
  void operator()(PGconn* c) const noexcept { PQfinish(c); }
  void operator()(PQconninfoOption* o) const noexcept { PQconninfoFree(o); }
  void operator()(PGnotify* n) const noexcept { PQfreemem(n); }
  void operator()(char* text) const noexcept { PQfreemem(text); }
};
template <class T>
using owned = std::unique_ptr<T, finish>;

std::string value_of(PQconninfoOption const* options, std::string_view keyword) {
  for (; options != nullptr && options->keyword != nullptr; ++options)
    if (options->keyword == keyword) return options->val == nullptr ? "" : options->val;
  return "";
}

std::vector<std::string> parted(std::string_view list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    auto const end = std::min(list.find(',', begin), list.size());
    out.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// Returns whether the connection was to be one to the first of several hosts that would do.
bool lists_several(PGconn* c) {
  owned<PQconninfoOption> const all(PQconninfo(c));
  return value_of(all.get(), "host").find(',') != std::string::npos ||
         value_of(all.get(), "hostaddr").find(',') != std::string::npos;
}

bool on_this_machine(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') || host == "localhost" ||
         host == "::1" || host.starts_with("127.");
}

std::string without(std::string text, std::vector<std::string> const& secrets) {
  for (auto const& secret : secrets)
    for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + 3))
      text.replace(at, secret.size(), "***");
  return text;
}

[[noreturn]] void wrong_url(std::string const& what) {
  throw error(failure::usage, "",
              "the URL of a database " + what + "; want postgresql://ROLE@HOST[:PORT]/DATABASE");
}

constexpr char const* read_only = "25006";
constexpr std::size_t greeting_max = std::size_t{1} << 20;  // bytes until a statement can be sent

constexpr char const* unverified =
    "the certificate of the server is not verified: sslmode=verify-full verifies it";

}  // namespace

endpoint::endpoint(std::string url, source from) : url_(std::move(url)) {
  if (url_.empty()) wrong_url("is empty");
  char* complaint = nullptr;
  owned<PQconninfoOption> const given(PQconninfoParse(url_.c_str(), &complaint));
  owned<char> const freed(complaint);  // not shown: it may repeat a password
  if (!given)
    wrong_url(std::string_view(complaint == nullptr ? "" : complaint)
                      .starts_with("invalid URI query parameter")
                  ? "has a parameter after ? that libpq does not know"
                  : "cannot be read");
  for (auto const* secret : {"password", "sslpassword"})
    if (auto const value = value_of(given.get(), secret); !value.empty()) {
      if (from == source::arguments)
        throw error(failure::usage, "",
                    "a password in an argument can be read by all users of this machine: leave it "
                    "out, and put it into ~/.pgpass (mode 0600) or PGPASSWORD, or give the URL by "
                    "HEADWAY_FLEET");
      secrets_.push_back(value);
    }
  // A password with one of / ? # @ in it is read as something else, and would be shown as that.
  auto const port = value_of(given.get(), "port");
  if (port.find_first_not_of("0123456789,") != port.npos ||
      (value_of(given.get(), "host") + value_of(given.get(), "dbname")).find('@') !=
          std::string::npos)
    wrong_url(
        "has a port that is no number, or a name that must be written with %40 for @, %2F "
        "for /, %3A for :");

  // What environment and service file add is known once libpq has merged them. It does so before it
  // looks at this value, which it refuses before it opens a socket.
  std::array<char const*, 3> const keywords = {"dbname", "channel_binding", nullptr};
  std::array<char const*, 3> const values = {url_.c_str(), "none of headway's", nullptr};
  owned<PGconn> const unopened(PQconnectStartParams(keywords.data(), values.data(), 1));
  owned<PQconninfoOption> const merged(PQconninfo(unopened.get()));
  if (!unopened || !merged) throw std::bad_alloc();
  if (auto const secret = value_of(merged.get(), "password"); !secret.empty())
    secrets_.push_back(secret);
  if (std::string_view const text = PQerrorMessage(unopened.get());
      text.find("none of headway's") == text.npos)
    wrong_url(without("is refused: " + std::string(text.substr(0, text.find('\n'))), secrets_));

  auto const get = [&](char const* keyword) { return value_of(merged.get(), keyword); };
  for (auto const* file : {"passfile", "sslrootcert"})
    if (auto const named = value_of(given.get(), file); !named.empty() && named != "system")
      files_.emplace_back(file, named);
  role_ = get("user");
  database_ = get("dbname").empty() ? role_ : get("dbname");
  auto const hosts = parted(get("host").empty() ? get("hostaddr") : get("host"));
  auto const reached = parted(get("hostaddr").empty() ? get("host") : get("hostaddr"));
  auto const here = std::ranges::all_of(reached, on_this_machine);
  auto const mode = get("sslmode");
  auto const told = !value_of(given.get(), "sslmode").empty() ||
                    std::getenv("PGSSLMODE") != nullptr || (mode != "prefer" && !mode.empty());
  verify_ = !here && !told;
  if (!here && told && mode != "verify-full") warning_ = unverified;
  writable_ = hosts.size() > 1 && get("target_session_attrs") == "any";

  auto const ports = parted(get("port"));
  std::string places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    auto const& host = hosts[i];
    auto const& its = ports.size() == 1 ? ports.front() : i < ports.size() ? ports[i] : "";
    places += (i == 0 ? "" : ",") +
              (host.find(':') != host.npos && host.front() != '/' ? "[" + host + "]" : host) +
              (its.empty() || its == "5432" ? "" : ":" + its);
  }
  name_ = without("postgresql://" + role_ + "@" + places + "/" + database_, secrets_);
}

std::string endpoint::missing_file() const {
  for (auto const& [keyword, file] : files_)
    if (access(file.c_str(), R_OK) != 0)
      return "the URL names " + keyword + "=" + file + ", which cannot be read (" +
             std::strerror(errno) + "): put it there (of headway fleet up: its folder join)";
  return "";
}

parameter::parameter(std::nullptr_t) {}
parameter::parameter(bool value) : type_(boolean), owned_(std::string(1, value ? '\1' : '\0')) {}
parameter::parameter(int value) : type_(integer), owned_(big_endian(value)) {}
parameter::parameter(std::int64_t value) : type_(bigint), owned_(big_endian(value)) {}
parameter::parameter(double value)
    : type_(float8), owned_(big_endian(std::bit_cast<std::int64_t>(value))) {}
parameter::parameter(std::string_view value) : type_(utf8), shown_(value) {}
parameter::parameter(std::string const& value) : parameter(std::string_view(value)) {}
parameter::parameter(char const* value) : parameter(std::string_view(value)) {}
parameter::parameter(std::span<std::byte const> value) : type_(bytea), shown_(characters(value)) {}
parameter::parameter(std::vector<std::byte> const& value)
    : parameter(std::span<std::byte const>(value)) {}
parameter::parameter(std::span<std::int64_t const> values)
    : type_(bigint_array), owned_(array(bigint, values, big_endian<std::int64_t>)) {}
parameter::parameter(std::span<std::string const> values)
    : type_(text_array), owned_(array(utf8, values, [](std::string_view v) { return v; })) {}
parameter::parameter(std::span<std::vector<std::byte> const> values)
    : type_(bytea_array), owned_(array(bytea, values, characters)) {}

void rows::clear::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

int rows::size() const noexcept {
  return PQntuples(result_.get());
}

bool rows::null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;  // also where there is no such value
}

std::span<std::byte const> rows::bytes(int row, int column) const {
  if (null(row, column)) return {};
  auto const* const begin =
      reinterpret_cast<std::byte const*>(PQgetvalue(result_.get(), row, column));
  return {begin, static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::string_view rows::text(int row, int column) const {
  return characters(bytes(row, column));
}

std::int64_t rows::number(int row, int column) const {
  auto const value = bytes(row, column);
  if (value.size() > sizeof(std::int64_t))
    throw error(failure::refused, "", "the database returned a value that is no number");
  std::uint64_t bits = 0;
  for (auto const byte : value) bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
  auto const unused = 64 - 8 * static_cast<int>(value.size());
  if (unused == 64 || value.size() == 1) return static_cast<std::int64_t>(bits);
  return static_cast<std::int64_t>(bits << unused) >> unused;  // of its sign
}

double rows::real(int row, int column) const {
  if (null(row, column)) return 0;
  if (bytes(row, column).size() != sizeof(double))
    throw error(failure::refused, "", "the database returned a value that is no number");
  return std::bit_cast<double>(number(row, column));
}

struct connection::session {
  session(endpoint const& e, patience p, std::stop_token s)
      : where(e), waits(p), stop(std::move(s)) {
    if (pipe2(waker.data(), O_CLOEXEC | O_NONBLOCK) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
  }
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  ~session() {
    stopper.reset();  // it writes to the waker
    for (int const end : waker) close(end);
  }

  void wake() noexcept {
    woken = true;
    char const any = 0;
    [[maybe_unused]] auto const written = write(waker[1], &any, 1);  // full: it wakes all the same
  }

  [[noreturn]] void fail(judgement const& j) const {
    throw error(j.kind, j.sqlstate,
                "database " + where.name() + ": " + without(j.sentence, where.secrets_));
  }
  /// The session is over; `during` is what that means for what ran.
  [[noreturn]] void give_up(failure during, std::string const& why) {
    pq.reset();
    fail({during, "", why});
  }

  /// What the kernel has received in all; 0 where it does not count that.
  std::uint64_t received() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    auto const known = getsockopt(PQsocket(pq.get()), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
    return known ? info.tcpi_bytes_received : 0;
  }

  /// From now on the server may send one answer.
  void expect_answer() { received_before = received(); }

  /// Gives up on a server that sends more than that: libpq keeps all of it, and does not look at
  /// the time while there is something to read.
  void check_size(std::size_t most, failure during) {
    if (received() > received_before + most)
      give_up(during, "it sends more than " + std::to_string(most >> 20) + " MiB at once");
  }

  /// Reads what is there; returns whether the session goes on.
  bool consume(failure during) {
    check_size(waits.answer, during);
    return PQconsumeInput(pq.get()) != 0;
  }

  enum class woke : std::uint8_t { socket, waker, time };

  /// Waits for the socket to be ready for `events`, for `wake`, or until `deadline`. Leaves in
  /// `events` what it is ready for.
  woke wait_for(short& events, time_point deadline) {
    for (;;) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
      auto const most = std::clamp<std::chrono::milliseconds>(left, 0ms, 1h);
      std::array<pollfd, 2> both = {{{PQsocket(pq.get()), events, 0}, {waker[0], POLLIN, 0}}};
      auto const ready = poll(both.data(), both.size(), static_cast<int>(most.count()));
      if (ready < 0 && errno != EINTR)
        throw std::system_error(errno, std::generic_category(), "poll");
      if (ready > 0 && both[1].revents != 0) {
        std::array<char, 64> rung{};
        while (read(waker[0], rung.data(), rung.size()) > 0) {
        }
        return woke::waker;
      }
      if (ready > 0) {
        events = both[0].revents;
        return woke::socket;
      }
      if (left <= 0ms) return woke::time;
    }
  }

  /// The same for what must not be ended by `wake` but by the stop token; returns what it is ready
  /// for.
  short wait_on(short events, time_point deadline, failure during) {
    for (;;) {
      if (stop.stop_requested()) give_up(during, "stopped");
      auto const by = wait_for(events, deadline);
      if (by == woke::socket) return events;
      if (by == woke::time) give_up(during, "it does not answer; is its network up?");
    }
  }

  void connect() {
    std::vector<char const*> keywords = {"dbname", "fallback_application_name", "client_encoding"};
    std::vector<char const*> values = {where.url_.c_str(), "headway", "UTF8"};
    auto const set = [&](char const* keyword, char const* value) {
      keywords.push_back(keyword);
      values.push_back(value);
    };
    if (where.verify_) set("sslmode", "verify-full");
    if (where.writable_) set("target_session_attrs", "read-write");
    set(nullptr, nullptr);
    pq.reset(PQconnectStartParams(keywords.data(), values.data(), 1));
    if (!pq) throw std::bad_alloc();
    PQsetErrorVerbosity(pq.get(),
                        PQERRORS_VERBOSE);  // with SQLSTATE, which says it in any language
    PQsetNoticeReceiver(
        pq.get(), [](void*, PGresult const*) {}, nullptr);
    auto const deadline = steady_now() + waits.connect;
    auto status =
        PQstatus(pq.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING) {
      wait_on(status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline, failure::unavailable);
      check_size(greeting_max, failure::unavailable);
      status = PQconnectPoll(pq.get());
    }
    if (status == PGRES_POLLING_FAILED) {
      auto j = judge_connection(PQerrorMessage(pq.get()), where.role(), where.database_);
      if (j.sqlstate == read_only && lists_several(pq.get())) {
        j.kind = failure::unavailable;
        j.sentence = "none of the hosts that are listed can be written to: one may be failing over";
      }
      pq.reset();
      if (auto const missing = where.missing_file(); j.kind == failure::usage && !missing.empty())
        j.sentence = missing;
      fail(j);
    }
    if (PQserverVersion(pq.get()) < 130'000)
      fail({failure::usage, "",
            "it is PostgreSQL " + std::to_string(PQserverVersion(pq.get()) / 10'000) +
                ": headway wants 13 or later"});
    if (PQsetnonblocking(pq.get(), 1) != 0) throw std::bad_alloc();
  }

  /// Pooled sessions are shared: nothing is set there.
  void begin() {
    auto const mine = static_cast<std::int64_t>(PQbackendPID(pq.get()));
    auto const limit = std::to_string(waits.statement.count());
    auto const found = execute_unprepared(
        "select pg_backend_pid() = $1, current_setting('transaction_read_only') = 'on', "
        "case when pg_backend_pid() = $1 then set_config('statement_timeout', $2, false) || "
        "set_config('default_transaction_isolation', 'read committed', false) end",
        {mine, limit});
    pooled = found.number(0, 0) == 0;
    if (found.number(0, 1) != 0) fail(judge_statement(read_only, "", where.role()));
  }

  /// Throws if the session ended while nothing ran, so that nothing is sent into it.
  void check() {
    if (!pq) fail({failure::unavailable, "", "the connection is lost"});
    pollfd now = {PQsocket(pq.get()), POLLIN, 0};
    while (poll(&now, 1, 0) > 0)  // its last words, then its end
      if (!consume(failure::unavailable)) give_up(failure::unavailable, "it ended the connection");
    if (stop.stop_requested()) give_up(failure::unavailable, "stopped");
  }

  /// What came of what was sent: of several statements the first failure, or the last result.
  /// `size`: of what was sent.
  rows finish(bool sent, std::size_t size = 0) {
    auto const lost = [&] {
      give_up(failure::unknown_fate, "the connection was lost while a statement ran");
    };
    if (!sent) lost();
    auto const from_now = [&] { return steady_now() + waits.statement + (pooled ? 0s : 1s); };
    // What is large may take longer, while the server takes some of it; not for ever.
    constexpr std::size_t least_a_second = 64 << 10;
    auto deadline = from_now();
    auto const latest = deadline + std::chrono::seconds(size / least_a_second);
    for (int left = 1; left != 0;) {
      left = PQflush(pq.get());
      if (left < 0) lost();
      if (left == 0) break;
      if ((wait_on(POLLIN | POLLOUT, deadline, failure::unknown_fate) & POLLOUT) != 0)
        deadline = std::min(from_now(), latest);
      if (!consume(failure::unknown_fate)) lost();
    }
    deadline = from_now();
    rows last(nullptr);
    for (;;) {
      while (PQisBusy(pq.get()) != 0) {
        wait_on(POLLIN, deadline, failure::unknown_fate);
        if (!consume(failure::unknown_fate)) lost();
      }
      rows next(PQgetResult(pq.get()));
      if (!next.result_) break;
      auto const status = PQresultStatus(next.result_.get());
      if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
        give_up(failure::unknown_fate, "it answers in another protocol");
      if (!last.result_ || PQresultStatus(last.result_.get()) != PGRES_FATAL_ERROR)
        last = std::move(next);
    }
    if (PQstatus(pq.get()) == CONNECTION_BAD || !last.result_) lost();
    if (!listens) heard();  // libpq would keep what was not asked for
    expect_answer();
    auto const field = [&](int code) {
      auto const* const text = PQresultErrorField(last.result_.get(), code);
      return std::string(text == nullptr ? "" : text);
    };
    auto const status = PQresultStatus(last.result_.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
      fail(judge_statement(field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY), where.role()));
    return last;
  }

  /// Values as libpq takes them.
  struct bound {
    explicit bound(std::span<parameter const> parameters) {
      for (auto const& p : parameters) {
        auto const shown = p.shown_ ? *p.shown_ : p.owned_ ? std::string_view(*p.owned_) : "";
        auto const null = !p.shown_ && !p.owned_;
        types.push_back(p.type_);
        values.push_back(null ? nullptr : shown.data() == nullptr ? "" : shown.data());
        lengths.push_back(static_cast<int>(shown.size()));
        formats.push_back(1);
      }
    }
    int size() const { return static_cast<int>(types.size()); }
    std::size_t bytes() const {
      return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    }

    std::vector<Oid> types;
    std::vector<char const*> values;
    std::vector<int> lengths, formats;
  };

  rows send_whole(std::string const& sql, std::span<parameter const> parameters) {
    check();
    bound const b(parameters);
    return finish(PQsendQueryParams(pq.get(), sql.c_str(), b.size(), b.types.data(),
                                    b.values.data(), b.lengths.data(), b.formats.data(), 1) != 0,
                  b.bytes());
  }
  rows execute_unprepared(std::string const& sql, std::initializer_list<parameter> parameters) {
    return send_whole(sql, std::span(parameters.begin(), parameters.size()));
  }

  rows execute(std::string const& sql, std::span<parameter const> parameters) {
    if (pooled) return send_whole(sql, parameters);  // the next session lacks what is prepared
    check();
    bound const b(parameters);
    auto found = std::ranges::find(prepared, sql);
    if (found == prepared.end()) {
      auto const name = std::to_string(prepared.size());
      finish(PQsendPrepare(pq.get(), name.c_str(), sql.c_str(), b.size(), b.types.data()) != 0);
      found = prepared.insert(prepared.end(), sql);
    }
    auto const name = std::to_string(found - prepared.begin());
    return finish(PQsendQueryPrepared(pq.get(), name.c_str(), b.size(), b.values.data(),
                                      b.lengths.data(), b.formats.data(), 1) != 0,
                  b.bytes());
  }

  std::vector<notification> heard() {
    std::vector<notification> out;
    while (owned<PGnotify> const n{PQnotifies(pq.get())}) out.push_back({n->relname, n->extra});
    return out;
  }

  endpoint where;
  patience waits;
  std::stop_token stop;
  std::array<int, 2> waker = {-1, -1};
  std::atomic<bool> woken = false;
  owned<PGconn> pq;
  bool pooled = false, listens = false;
  std::uint64_t received_before = 0;
  std::vector<std::string> prepared;  // by number: few, so that a search is cheap
  std::optional<std::stop_callback<std::function<void()>>> stopper;
};

connection::connection(endpoint const& where, patience limits, std::stop_token stop)
    : session_(std::make_unique<session>(where, limits, stop)) {
  session_->stopper.emplace(stop, [s = session_.get()] { s->wake(); });
  session_->connect();
  session_->begin();
}

connection::connection(connection&&) noexcept = default;
connection& connection::operator=(connection&&) noexcept = default;
connection::~connection() = default;

rows connection::execute(std::string_view sql, std::initializer_list<parameter> parameters) {
  return session_->execute(std::string(sql), std::span(parameters.begin(), parameters.size()));
}

void connection::script(std::string const& sql) {
  session_->check();
  session_->finish(PQsendQuery(session_->pq.get(), sql.c_str()) != 0);
}

void connection::listen(std::string_view channel) {
  session_->check();
  owned<char> const name(PQescapeIdentifier(session_->pq.get(), channel.data(), channel.size()));
  if (!name) throw error(failure::usage, "", "the name of a channel is no UTF-8");
  session_->listens = true;
  session_->execute_unprepared(std::string("listen ") + name.get(), {});
}

std::vector<notification> connection::wait(time_point until) {
  auto& s = *session_;
  if (s.pq) s.expect_answer();
  for (;;) {
    s.check();
    if (!s.consume(failure::unavailable))
      s.give_up(failure::unavailable, "it ended the connection");
    auto heard = s.heard();
    if (!heard.empty() || s.woken.exchange(false)) return heard;
    short events = POLLIN;
    if (s.wait_for(events, until) == session::woke::time) return {};
  }
}

void connection::wake() noexcept {
  session_->wake();
}

bool connection::lost() const noexcept {
  return !session_->pq;
}

bool connection::pooled() const noexcept {
  return session_->pooled;
}

}  // namespace headway::postgres
