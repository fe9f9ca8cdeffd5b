#include "exec/job_intake.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fatal.hpp"
#include "base/words.hpp"

namespace headway::app {

job_intake::job_intake(exec_options const& options, recipe const& recipe) {
  auto settings = options.input;
  settings.names = recipe.names();
  auto const jobs = settings.path == "-" ? "standard input" : settings.path;
  input_.emplace(std::move(settings), [this](std::string_view line, std::int64_t begins) {
    if (log_) log_->check(line, begins);
  });
  if (!options.journal.empty())
    log_ = std::make_unique<journal>(options.journal, jobs.empty() ? ":::" : jobs, options.level,
                                     recipe.shape(), options.again, "the command");
  std::int64_t last = 0;
  if (input_->is_stream()) {
    struct stat about {};
    fstat(STDIN_FILENO, &about);
    polls_ = S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || isatty(STDIN_FILENO) == 1;
    if (log_) last = log_->lines();
  } else {
    bool warned = false;
    total_ = input_->survey([&](exec_item const& item) {
      last = item.line;
      if (warned) return;
      if (auto const why = recipe.mistakable(item)) {
        warned = true;
        say(fmt::format("{}:{}: {}", input_->name(), item.line, *why));
      }
    });
    if (total_ == 0)
      throw fatal(exit_usage, input_->name() + ": there is no job in it: one value a line");
    if (log_) log_->end_of_input();
  }
  if (!log_) return;
  for (auto const how : options.again) log_->reopen(how, last);
  before_ = log_->ended(last);
}

std::optional<exec_item> job_intake::next() {
  if (put_back_) return std::exchange(put_back_, std::nullopt);
  if (auto item = input_->ready()) {
    if (log_ && log_->done(item->line)) return std::nullopt;
    return item;
  }
  if (last_read_) {
    closed_ = true;
    return std::nullopt;
  }
  if (polls_ && !std::exchange(readable_, false)) return std::nullopt;
  last_read_ = !input_->fill();
  return std::nullopt;
}

}  // namespace headway::app
