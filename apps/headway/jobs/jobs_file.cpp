#include "jobs/jobs_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/fatal.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

[[noreturn]] void unreadable(std::string const& path, std::string_view why) {
  throw fatal(exit_usage, fmt::format("{}: {}", path, why));
}

file open_jobs(std::string const& path) {
  if (path == "-") return {fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "standard input"};
  // Opening a pipe without O_NONBLOCK would wait for its writer.
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) unreadable(path, fmt::format("cannot open it: {}", std::strerror(errno)));
  file opened(fd, path);
  if (opened.regular()) return opened;
  struct stat status {};
  fstat(opened.fd(), &status);
  unreadable(path,
             S_ISDIR(status.st_mode)
                 ? "is a directory; want a file of requests"
                 : "is not a regular file; want one, or - and the requests on standard input");
}

line_options options_for(std::string const& path, line_options options) {
  options.file = path == "-" ? "stdin" : path;
  auto const folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) options.folder = folder;
  return options;
}

/// The line whose number `id` is, written as a line's own id would be; 0 if it is none.
std::int64_t as_line_number(std::string const& id) noexcept {
  std::int64_t number = 0;
  if (id.front() < '1' || id.front() > '9') return 0;
  auto const [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() ? number : 0;
}

}  // namespace

void check_jobs(std::string const& path) {
  open_jobs(path);
}

/// Lines by id, in a database that SQLite keeps in a cache of fixed size and else in a nameless
/// temporary file.
class id_register::table {
 public:
  table() {
    check(sqlite3_open_v2(
        "", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
    check(sqlite3_exec(db_,
                       "PRAGMA cache_size = -65536; PRAGMA journal_mode = OFF;"
                       "CREATE TABLE ids(id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID; BEGIN",
                       nullptr, nullptr, nullptr));
    check(sqlite3_prepare_v2(db_, "INSERT INTO ids VALUES(?, ?)", -1, &insert_, nullptr));
    check(sqlite3_prepare_v2(db_, "SELECT line FROM ids WHERE id = ?", -1, &find_, nullptr));
  }
  table(table const&) = delete;
  table& operator=(table const&) = delete;
  ~table() {
    sqlite3_finalize(insert_);
    sqlite3_finalize(find_);
    sqlite3_close(db_);
  }

  std::optional<std::int64_t> find(std::string const& id) {
    bind(find_, id);
    int const result = sqlite3_step(find_);
    std::optional<std::int64_t> line;
    if (result == SQLITE_ROW) line = sqlite3_column_int64(find_, 0);
    sqlite3_reset(find_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) check(result);
    return line;
  }

  /// Returns the line that has `id` already, if any.
  std::optional<std::int64_t> insert(std::string const& id, std::int64_t line) {
    bind(insert_, id);
    sqlite3_bind_int64(insert_, 2, line);
    sqlite3_step(insert_);
    int const result = sqlite3_reset(insert_);
    if (result == SQLITE_CONSTRAINT) return find(id);
    check(result);
    return std::nullopt;
  }

 private:
  static void bind(sqlite3_stmt* statement, std::string const& id) {
    sqlite3_bind_text(statement, 1, id.data(), static_cast<int>(id.size()), SQLITE_STATIC);
  }

  void check(int result) {
    if (result != SQLITE_OK)
      throw fatal(exit_io,
                  fmt::format("cannot keep the ids of the requests in a temporary file: {}",
                              sqlite3_errmsg(db_)));
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* find_ = nullptr;
};

id_register::id_register() = default;
id_register::id_register(id_register&&) noexcept = default;
id_register& id_register::operator=(id_register&&) noexcept = default;
id_register::~id_register() = default;

std::optional<std::int64_t> id_register::claim(std::string const& id, std::int64_t line) {
  auto const number = as_line_number(id);
  if (number == line) {
    line_numbers_.resize(static_cast<std::size_t>(line) + 1);
    line_numbers_.back() = true;
    return line <= largest_ahead_ ? given_->find(id) : std::nullopt;
  }
  if (number > 0 && number < line) {
    auto const at = static_cast<std::size_t>(number);
    if (at < line_numbers_.size() && line_numbers_[at]) return number;
  }
  largest_ahead_ = std::max(largest_ahead_, number);
  if (!given_) given_ = std::make_unique<table>();
  return given_->insert(id, line);
}

void record_lines::add(std::int64_t line, std::int64_t begins, bool has_header) {
  if (header_end == 0 && has_header) header_end = line;
  if (line == begins) return;
  goes_on.resize(static_cast<std::size_t>(line) + 1);
  goes_on.back() = true;
}

std::vector<bool> record_lines::whole(std::vector<bool> wanted) const {
  if (std::ranges::find(wanted, true) == wanted.end()) return wanted;
  auto const header = static_cast<std::size_t>(header_end);
  wanted.resize(std::max({wanted.size(), goes_on.size(), header + 1}));
  for (std::size_t line = 1; line <= header; ++line) wanted[line] = true;
  for (std::size_t line = header + 1; line < goes_on.size(); ++line)
    if (goes_on[line]) wanted[line] = wanted[line - 1];
  return wanted;
}

job_stream::job_stream(line_options options, line_hook on_line)
    : parser_(std::move(options)), on_line_(std::move(on_line)) {}

std::optional<std::string_view> job_stream::next_line() {
  auto line = lines_.next();
  if (!line) {
    if (lines_.begun() <= line_bytes_max) return std::nullopt;
    throw fatal(exit_usage, fmt::format("{}:{}: the line has more than {} bytes", options().file,
                                        lines_.count() + 1, line_bytes_max));
  }
  if (line->ends_with('\r')) line->remove_suffix(1);
  return line;
}

std::optional<job> job_stream::next() {
  while (auto const line = next_line()) {
    auto j = parser_.parse(*line, lines_.count());
    if (j && ids_)
      if (auto const earlier = ids_->claim(j->id, j->line))
        throw fatal(exit_usage, fmt::format("{}:{}: id {} is already used at line {}",
                                            options().file, j->line, in_quotes(j->id), *earlier));
    records_.add(lines_.count(), parser_.begins(), parser_.has_header());
    if (on_line_) on_line_(*line, parser_.begins());
    if (j) return j;
  }
  if (lines_.finished()) parser_.finish();
  return std::nullopt;
}

jobs_file::jobs_file(std::string const& path, line_options options, line_hook on_line)
    : file_(open_jobs(path)),
      is_stream_(path == "-"),
      stream_(options_for(path, std::move(options)), std::move(on_line)),
      chunk_(is_stream_ ? steady_file::block_bytes : 0, '\0') {
  stream_.check_ids();
}

bool jobs_file::fill() {
  std::string_view bytes;
  if (is_stream_) {
    auto const n = ::read(fd(), chunk_.data(), chunk_.size());
    if (n < 0) {
      if (errno == EINTR || errno == EAGAIN) return true;
      unreadable(stream_.options().file, fmt::format("cannot read it: {}", std::strerror(errno)));
    }
    bytes = {chunk_.data(), static_cast<std::size_t>(n)};
  } else {
    bytes = file_.block(blocks_++);
  }
  read_ += static_cast<std::int64_t>(bytes.size());
  stream_.feed(bytes);
  if (bytes.empty()) stream_.finish();
  return !bytes.empty();
}

jobs_survey jobs_file::survey(std::function<void(std::int64_t, std::int64_t)> const& progress,
                              std::int64_t only, std::function<void(job const&)> const& on_job) {
  jobs_survey found;
  for (bool more = true; more;) {
    more = fill();
    while (auto const j = stream_.next()) {
      ++found.requests;
      if (only == 0 || found.requests <= only) {
        ++found.wanted;
        found.last_wanted = j->line;
      }
      if (on_job) on_job(*j);
      if (j->computes) ++found.computing;
      found.all_idempotent = found.all_idempotent && idempotent(*j);
      auto& origins = found.origins;
      if (origins.size() < 2 && (origins.empty() || origins.front() != j->origin))
        origins.push_back(j->origin);
    }
    if (progress) progress(read_, file_.size());
  }
  found.lines = stream_.lines();
  found.records = stream_.records();
  rewind();
  return found;
}

// Without the checks and the hook of the first pass.
void jobs_file::rewind(bool keeps_records) {
  auto options = stream_.options();
  options.keeps_record = keeps_records;
  stream_ = job_stream(std::move(options));
  blocks_ = 0;
  read_ = 0;
}

std::optional<job> jobs_file::next() {
  for (;;) {
    if (auto j = stream_.next()) return j;
    pollfd readable{fd(), POLLIN, 0};
    if (is_stream_) poll(&readable, 1, -1);
    if (!fill()) return stream_.next();
  }
}

}  // namespace headway::app
