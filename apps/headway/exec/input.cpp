#include "exec/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr char one_of[] = "\x1f";  // between the columns of `:::`, for the journal

file open_input(std::string const& path) {
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    throw fatal(exit_usage, fmt::format("{}: cannot open it: {}", path, std::strerror(errno)));
  file opened(fd, path);
  if (!opened.regular())
    throw fatal(exit_usage,
                path + ": is not a regular file; want one, or - and the values on standard input");
  return opened;
}

std::vector<std::string> split(std::string_view line, std::string_view separator) {
  std::vector<std::string> columns;
  if (separator.empty()) return {std::string(line)};
  for (std::size_t at = 0;;) {
    auto const end = line.find(separator, at);
    columns.emplace_back(line.substr(at, end == line.npos ? end : end - at));
    if (end == line.npos) return columns;
    at = end + separator.size();
  }
}

/// Rows of sources that are linked; the shortest ends them.
std::vector<std::vector<std::vector<std::string>>> groups_of(input_settings const& s) {
  std::vector<std::vector<std::vector<std::string>>> groups;
  for (std::size_t i = 0; i < s.sources.size(); ++i) {
    auto const& source = s.sources[i];
    if (!s.linked[i] || groups.empty()) {
      groups.emplace_back();
      for (auto const& value : source) groups.back().push_back({value});
      continue;
    }
    auto& rows = groups.back();
    if (rows.size() > source.size()) rows.resize(source.size());
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row].push_back(source[row]);
  }
  return groups;
}

}  // namespace

std::string exec_item::words() const {
  return fmt::format("{}", fmt::join(columns, " "));
}

struct exec_input::json {
  simdjson::dom::parser parser{};
};

exec_input::exec_input(input_settings settings, line_hook on_line)
    : settings_(std::move(settings)),
      on_line_(std::move(on_line)),
      name_(settings_.path == "-"    ? "stdin"
            : settings_.path.empty() ? ":::"
                                     : settings_.path),
      chunk_(is_stream() ? steady_file::block_bytes : 0, '\0'),
      lines_(settings_.end),
      json_(std::make_unique<json>()),
      reader_(settings_.names),
      groups_(groups_of(settings_)) {
  if (!settings_.path.empty() && !is_stream()) file_.emplace(open_input(settings_.path));
  if (settings_.path.empty() && !settings_.names.empty())
    throw fatal(
        exit_usage,
        fmt::format("{{{}}} in the command: values of ::: have no names; want {{}} or {{1}}, "
                    "or \\{{{}}} for the text itself",
                    settings_.names.front(), settings_.names.front()));
}

exec_input::~exec_input() = default;

int exec_input::fd() const noexcept {
  return is_stream() ? STDIN_FILENO : -1;
}

std::int64_t exec_input::survey(std::function<void(exec_item const&)> const& on_item) {
  for (bool more = true; more;) {
    more = fill();
    while (auto const item = ready())
      if (on_item) on_item(*item);
  }
  auto const found = number_;
  surveyed_ = true;
  rewind();
  return found;
}

void exec_input::rewind() {
  block_ = 0;
  number_ = 0;
  lines_ = line_cutter(settings_.end);
  reader_ = record_reader(settings_.names);
}

bool exec_input::fill() {
  if (settings_.path.empty()) return false;
  std::string_view bytes;
  if (is_stream()) {
    auto const n = ::read(STDIN_FILENO, chunk_.data(), chunk_.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n < 0)
      throw fatal(exit_usage, fmt::format("stdin: cannot read it: {}", std::strerror(errno)));
    bytes = {chunk_.data(), static_cast<std::size_t>(n)};
  } else {
    bytes = file_->block(block_++);
  }
  lines_.feed(bytes);
  if (bytes.empty()) lines_.finish();
  return !bytes.empty();
}

std::optional<exec_item> exec_input::ready() {
  if (settings_.path.empty()) return of_sources();
  while (auto const line = lines_.next())
    if (auto item = of_line(*line)) return item;
  if (lines_.begun() > line_bytes_max)
    throw fatal(exit_usage, fmt::format("{}:{}: the line has more than {} bytes", name_,
                                        lines_.count() + 1, line_bytes_max));
  if (lines_.finished() && reader_.open())
    throw fatal(exit_usage, fmt::format("{}:{}: a quote is open at the end", name_, begins_));
  return std::nullopt;
}

/// The last source goes fastest.
std::optional<exec_item> exec_input::of_sources() {
  std::int64_t all = groups_.empty() ? 0 : 1;
  for (auto const& group : groups_)
    if (__builtin_mul_overflow(all, static_cast<std::int64_t>(group.size()), &all))
      throw fatal(exit_usage, "::: the sources make more jobs than can be counted");
  if (number_ >= all) return std::nullopt;
  exec_item item{.line = number_ + 1, .number = number_ + 1};
  auto left = number_++;
  std::vector<std::vector<std::string> const*> rows;
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    auto const size = static_cast<std::int64_t>(group->size());
    rows.push_back(&(*group)[static_cast<std::size_t>(left % size)]);
    left /= size;
  }
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    item.columns.insert(item.columns.end(), (*row)->begin(), (*row)->end());
  item.id = std::to_string(item.line);
  if (!surveyed_ && on_line_)
    on_line_(fmt::format("{}", fmt::join(item.columns, one_of)), item.line);
  return item;
}

std::optional<exec_item> exec_input::of_line(std::string_view line) {
  auto const number = lines_.count();
  if (number == 1) {
    line = without_mark(line);
    crlf_ = settings_.end == '\n' && line.ends_with('\r');
  }
  if ((crlf_ || !settings_.names.empty()) && line.ends_with('\r')) line.remove_suffix(1);
  exec_item item;
  if (settings_.names.empty()) {
    begins_ = number;
    if (!line.empty() || settings_.keep_empty) item.columns = split(line, settings_.separator);
    item.id = std::to_string(number);
  } else {
    if (!reader_.open()) {
      begins_ = number;
      so_far_.clear();
    }
    so_far_.append(so_far_.empty() ? "" : "\n").append(line);
    try {
      if (auto found = reader_.read(line, json_->parser)) {
        item.columns = {so_far_};
        for (auto& value : found->values) item.named.push_back(std::move(value.text));
        item.id = found->id ? found->id->text : std::to_string(begins_);
      }
    } catch (std::invalid_argument const& wrong) {
      throw fatal(exit_usage, fmt::format("{}:{}: {}", name_, number, wrong.what()));
    }
  }
  item.line = begins_;
  if (!surveyed_) {
    records_.add(number, begins_, reader_.has_header());
    if (on_line_) on_line_(line, begins_);
  }
  if (item.columns.empty()) return std::nullopt;
  item.number = ++number_;
  for (auto const* const values : {&item.columns, &item.named})
    for (auto const& value : *values)
      if (value.find('\0') != value.npos)
        throw fatal(
            exit_usage,
            fmt::format("{}:{}: there is a zero byte, which no argument can have", name_, number));
  return item;
}

}  // namespace headway::app
