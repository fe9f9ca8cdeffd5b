#include "run/plan.hpp"

#include <fmt/format.h>

namespace headway::app {

void print_plan(run_options const& options, intake const& input, spending const& spent,
                tempo const& so_far) {
  auto const& survey = input.survey();
  auto const origins = fmt::format("{}", fmt::join(survey.origins, ", "));
  fmt::print("{}: {} requests in {} lines to {}{}\n", options.jobs,
             input.is_stream() ? std::string("?") : std::to_string(survey.requests), survey.lines,
             origins, survey.origins.size() > 1 ? ", …" : "");
  if (!options.table.empty()) fmt::print("table: {}\n", options.table);
  fmt::print("results: {}\njournal: {}\n", options.out,
             options.journal.empty() ? "none" : options.journal);
  if (input.reopened() > 0) fmt::print("to be done again: {}\n", input.reopened());
  if (options.only > 0) fmt::print("only: the first {}\n", options.only);
  auto const before = input.before().success + input.before().lost();
  if (!input.is_stream() && before > 0) fmt::print("already done: {}\n", before);
  if (!input.is_stream()) fmt::print("{}\n", estimate_of(survey.wanted - before, spent, so_far));
  fmt::print("law: {}, {}\n", options.law.name, options.law.what);
  if (survey.computing > 0)
    fmt::print(
        "{} POSTs only compute, as 'computes' of the profile says: they are sent again after a "
        "5xx, a "
        "broken connection or a kill\n",
        survey.computing);
  if (!survey.all_idempotent)
    fmt::print(
        "some requests are not idempotent: none of them is sent again once it may have been "
        "carried out{}\n",
        options.retry_unsafe ? ", except that --retry-unsafe allows it" : "");
}

}  // namespace headway::app
