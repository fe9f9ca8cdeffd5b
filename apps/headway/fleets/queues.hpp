/// What people do with queues: results, stop, resume, drop.
#pragma once

#include <string>
#include <vector>

#include "headway/postgres/connection.hpp"
#include "queue/queue.hpp"

namespace headway::app {

struct queue_command {
  std::string what;     ///< one of `queue_verbs`
  std::string queue;    ///< its name
  std::string out{};    ///< of results: the file that they are collected into; "": they are printed
  bool follow = false;  ///< of results: until all is there
  bool force = false;   ///< of drop: also results that are not collected
};
inline std::vector<std::string> const queue_verbs = {"results", "stop", "resume", "drop"};

/// Carries it out and says what became of it; returns the exit code. Errors: those of queue_engine,
/// fatal(exit_usage) where there is no such queue.
int act_on_queue(postgres::endpoint const&, queue_command const&);

/// How far a queue is, in two lines: what became of its requests, and of their results.
std::vector<std::string> in_words(queue_status const&);

}  // namespace headway::app
