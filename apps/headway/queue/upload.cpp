#include "queue/upload.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/sha256.hpp"
#include "jobs/line_cutter.hpp"

namespace headway::app {
namespace {

constexpr std::size_t digest_bytes = 8;  // of a line
constexpr std::int64_t blocks_wanted = 64;

std::string digest_of(std::string_view line) {
  auto const whole = sha256(line);
  return {whole.begin(), whole.begin() + digest_bytes};
}

bool has(std::vector<bool> const& lines, std::int64_t line) {
  return static_cast<std::size_t>(line) < lines.size() && lines[static_cast<std::size_t>(line)];
}

std::span<std::byte const> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Calls `use` with the number of each line and the line, until it returns false.
template <class Use>
void each_line(steady_file& jobs, Use use) {
  line_cutter lines;
  for (std::size_t number = 0;; ++number) {
    auto const bytes = jobs.block(number);
    lines.feed(bytes);
    if (bytes.empty()) lines.finish();
    while (auto line = lines.next()) {
      if (line->ends_with('\r')) line->remove_suffix(1);
      if (!use(lines.count(), *line)) return;
    }
    if (bytes.empty()) return;
  }
}

class uploading {
 public:
  uploading(queue_engine& engine, steady_file& jobs, upload_plan const& plan)
      : engine_(engine), jobs_(jobs), plan_(plan) {}

  queue_facts go() {
    survey();
    engine_.ask("select headway1.queue_create($1, $2, $3, $4, $5)",
                {plan_.name, bytes_of(digest_), plan_.shape, plan_.options, lines_});
    auto const id = there();
    for (auto const& most : plan_.spend_max) allow_queue(engine_, id, most);
    auto const wanted = plan_.lines > 0 ? std::min(plan_.lines, lines_) : lines_;
    while (!facts_.sealed || facts_.uploaded < wanted) {
      send(wanted);
      engine_.ask("select headway1.queue_seal($1, $2)", {facts_.id, wanted});
      if (there() != id) refuse("was dropped while it was being uploaded");
    }
    return facts_;
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw fatal(exit_usage, fmt::format("queue {} {}", plan_.name, why));
  }
  [[noreturn]] void other(std::string_view how) const {
    throw fatal(exit_usage,
                fmt::format("{}{}; give the file another name, or `headway fleet drop {}`",
                            plan_.jobs, how, plan_.name));
  }

  void survey() {
    std::string digests;
    auto const chain = [&] {
      auto const whole = sha256(digest_ + digests);
      digest_.assign(whole.begin(), whole.end());
      digests.clear();
    };
    each_line(jobs_, [&](std::int64_t number, std::string_view line) {
      if (line.size() > queue_line_bytes_max)
        throw fatal(exit_usage, fmt::format("{}:{}: the line has {} bytes; a queue takes up to {}",
                                            plan_.jobs, number, line.size(), queue_line_bytes_max));
      lines_ = number;
      digests += digest_of(line);
      if (digests.size() >= std::size_t{1} << 16) chain();
      return true;
    });
    chain();
    block_lines_ = std::clamp(lines_ / blocks_wanted, std::int64_t{1}, block_lines_max);
  }

  /// Looks at what is there, which must be these lines; returns its id.
  std::int64_t there() {
    auto found = engine_.find(plan_.name);
    if (!found) refuse("was dropped while it was being uploaded");
    facts_ = std::move(*found);
    if (facts_.digest != digest_) say_difference();
    if (facts_.shape != plan_.shape)
      other(fmt::format(": queue {} was uploaded with another --url, --body, --method or --format",
                        plan_.name));
    return facts_.id;
  }

  [[noreturn]] void say_difference() {
    if (facts_.lines == 0 || lines_ == 0)
      other(fmt::format(" has {} lines, queue {} has {}", lines_, plan_.name, facts_.lines));
    std::string digests;
    std::int64_t first = 1;
    each_line(jobs_, [&](std::int64_t number, std::string_view line) {
      if (number > facts_.uploaded) return false;
      auto at = static_cast<std::size_t>(number - first) * digest_bytes;
      if (at >= digests.size()) {
        auto const block =
            engine_.ask("select * from headway1.queue_digests($1, $2)", {facts_.id, number});
        if (block.size() == 0) return false;
        first = block.number(0, 0);
        digests = block.text(0, 1);
        at = static_cast<std::size_t>(number - first) * digest_bytes;
      }
      if (digests.compare(at, digest_bytes, digest_of(line)) != 0)
        other(fmt::format(":{}: this is not the line of queue {}", number, plan_.name));
      return true;
    });
    if (facts_.lines != lines_)
      other(fmt::format(" has {} lines, queue {} has {}", lines_, plan_.name, facts_.lines));
    other(fmt::format(" is not the file that queue {} is being uploaded of", plan_.name));
  }

  struct entry {
    std::string text, digest;
    char state;
    bool goes_on;
  };

  /// All from where the upload stands, up to this line. Returns early where the engine has lost
  /// what it had, for it has promised nothing yet.
  void send(std::int64_t wanted) {
    block_.clear();
    bytes_ = 0;
    first_ = facts_.uploaded + 1;
    each_line(jobs_, [&](std::int64_t number, std::string_view line) {
      if (number <= facts_.uploaded) return true;
      if (number > wanted) return false;
      entry e{std::string(line), digest_of(line),
              has(plan_.requests, number) ? char{0} : queue_block::no_request,
              has(plan_.goes_on, number)};
      if (plan_.folder && e.state == 0) {
        try {
          e.text = with_its_body(line, *plan_.folder);
        } catch (std::invalid_argument const& why) {
          throw fatal(exit_usage, fmt::format("{}:{}: {}", plan_.jobs, number, why.what()));
        }
      }
      auto const full = static_cast<std::int64_t>(block_.size()) >= block_lines_ ||
                        bytes_ + e.text.size() > block_bytes_usual;
      if (!block_.empty() && full && !e.goes_on && !flush()) return false;
      bytes_ += e.text.size();
      if (static_cast<std::int64_t>(block_.size()) >= block_lines_max || bytes_ > block_bytes_max)
        throw fatal(exit_usage, fmt::format("{}:{}: the record has more than {} lines or {} bytes",
                                            plan_.jobs, number, block_lines_max, block_bytes_max));
      block_.push_back(std::move(e));
      return true;
    });
    if (!block_.empty()) flush();
  }

  /// False where what comes before this block is not there.
  bool flush() {
    while (!block_.empty()) {
      std::string lines, state, digests;
      for (auto const& e : block_) {
        lines += e.text;
        lines += '\n';
        state += e.state;
        digests += e.digest;
      }
      auto const said = engine_.ask("select headway1.queue_upload($1, $2, $3, $4, $5, $6, $7)",
                                    {facts_.id, first_, static_cast<int>(block_.size()),
                                     static_cast<int>(std::ranges::count(state, char{0})),
                                     bytes_of(lines), bytes_of(state), bytes_of(digests)});
      if (said.null(0, 0)) refuse("was dropped while it was being uploaded");
      auto const uploaded = said.number(0, 0);
      if (plan_.progress) plan_.progress(uploaded, lines_);
      if (uploaded < first_) return false;
      // More than ours: another starter uploads it, too.
      auto const known =
          std::min<std::int64_t>(uploaded - first_ + 1, static_cast<std::int64_t>(block_.size()));
      block_.erase(block_.begin(), block_.begin() + known);
      first_ += known;
    }
    bytes_ = 0;
    return true;
  }

  queue_engine& engine_;
  steady_file& jobs_;
  upload_plan const& plan_;
  queue_facts facts_{};
  std::string digest_{};
  std::int64_t lines_ = 0;
  std::int64_t block_lines_ = 1;

  std::vector<entry> block_{};  // that is being filled
  std::size_t bytes_ = 0;
  std::int64_t first_ = 1;
};

}  // namespace

std::string queue_name_of(std::string_view jobs) {
  auto const path = std::filesystem::path(jobs);
  auto name = path.stem().string();
  for (char& c : name)
    if (!is_queue_name(std::string_view(&c, 1))) c = '-';
  name.resize(std::min<std::size_t>(name.size(), 64));
  return name;
}

queue_facts upload(queue_engine& engine, steady_file& jobs, upload_plan const& plan) {
  return uploading(engine, jobs, plan).go();
}

std::string with_its_body(std::string_view line, std::filesystem::path const& folder) {
  auto const begin = line.find_first_not_of(" \t\xef\xbb\xbf");  // JOBS may begin with U+FEFF
  if (begin == line.npos || line[begin] != '{') return std::string(line);
  if (line.find("file") == line.npos) return std::string(line);
  line.remove_prefix(begin);
  thread_local simdjson::dom::parser parser;
  auto const members = members_of(line);
  std::size_t index = 0;
  for (auto const [key, value] : parse_object(parser, line)) {
    auto const& member = members.at(index++);
    if (key != "body_file") continue;
    std::string_view name;
    if (value.get(name) != simdjson::SUCCESS) throw std::invalid_argument("body_file is no string");
    auto const path = folder / std::filesystem::path(name).lexically_normal();
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::invalid_argument(fmt::format("body_file {} cannot be read", path.string()));
    std::string body(queue_body_bytes_max + 1, '\0');
    in.read(body.data(), static_cast<std::streamsize>(body.size()));
    body.resize(static_cast<std::size_t>(in.gcount()));
    if (body.size() > queue_body_bytes_max)
      throw std::invalid_argument(
          fmt::format("body_file {} has more than {} bytes; a queue takes "
                      "up to so many",
                      path.string(), queue_body_bytes_max));
    if (!simdjson::validate_utf8(body))
      throw std::invalid_argument(
          fmt::format("body_file {} is not UTF-8; a queue takes only text", path.string()));
    auto const at = static_cast<std::size_t>(member.whole.data() - line.data());
    return fmt::format("{}\"body\":{}{}", line.substr(0, at), json_string(body),
                       line.substr(at + member.whole.size()));
  }
  return std::string(line);
}

}  // namespace headway::app
