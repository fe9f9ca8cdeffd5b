#include "exec/attempt_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "journal/bodies.hpp"
#include "os/named_files.hpp"

namespace headway::app {
namespace {

constexpr char log_name[] = "attempts.jsonl";

std::string made(std::string folder) {
  make_body_folder(folder);
  return folder;
}

}  // namespace

attempt_files::attempt_files(std::string folder)
    : folder_(made(std::move(folder))),
      log_(file::open(folder_ + "/" + log_name, O_WRONLY | O_CREAT | O_APPEND)) {}

bool attempt_files::names(std::string_view name) noexcept {
  auto const dot = name.find('.'), end = name.rfind('.');
  if (name == log_name) return true;
  if (dot == name.npos || dot == end) return false;
  auto const attempt = name.substr(dot + 1, end - dot - 1);
  return is_numbered(std::string(name.substr(0, dot)).append(name.substr(end)), {".out", ".err"}) &&
         attempt.find_first_not_of("0123456789") == attempt.npos;
}

void attempt_files::begin(task& t) {
  std::string stem;
  auto number = t.attempts;
  std::error_code none;
  do stem = fmt::format("{}/{:08}.{}", folder_, t.what.number, number++);
  while (std::filesystem::exists(stem + ".out", none));
  for (auto const& [spool, kind] : {std::pair{&t.output, ".out"}, {&t.error, ".err"}})
    spool->copy_to(file::open(stem + kind, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW));
  t.attempt = stem.substr(folder_.size() + 1);
}

void attempt_files::end(task& t, job_result const& r, std::string_view verdict) {
  t.output.end_copy();
  t.error.end_copy();
  log_.append(
      fmt::format("{{\"line\":{},\"attempt\":\"{}\",\"verdict\":\"{}\",\"exit\":{},\"signal\":{},"
                  "\"began\":{:.3f},\"seconds\":{:.3f}}}\n",
                  t.what.line, t.attempt, verdict, r.exit, r.signal, t.began, to_seconds(r.took)));
}

}  // namespace headway::app
