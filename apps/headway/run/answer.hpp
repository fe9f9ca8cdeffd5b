/// What an answer to a request means.
#pragma once

#include <optional>
#include <string>

#include "client/transport.hpp"
#include "provider/judgement.hpp"
#include "run/request.hpp"

namespace headway::app {

/// Returns what it says, by the profile of the request's lane; of a part of the answer if the
/// request was done in parts.
judgement judge(request const&, reply const&);

/// Returns what its head says by itself, before its end; nullopt where the rest may say otherwise.
std::optional<judgement> judge_head(request const&, reply const& so_far);

/// Returns the body of the answer to all of the request, where this was the answer to the last part
/// of it; nullopt where the answer is whole by itself, or not good.
std::optional<std::string> joined_body(request const&, reply const&);

/// Returns `last`, the judgement of the last part, as it is of the whole answer.
judgement judge_whole(request const&, reply const& whole, judgement last);

/// What an answer says of its request, with what is known of that.
struct reading {
  judgement told{};
  std::optional<std::string> joined{};  ///< as joined_body()
  bool gone = false;        ///< it met a kept connection that was closed, for the first time: a
                            ///< server may do that whenever it likes, so it may go again at once
  bool may_repeat = false;  ///< the request may go once more
  std::string error{};      ///< what went wrong, to people; "": nothing
};

/// Reads an answer; the request keeps what it says of that. `retry_unsafe`: as the option.
reading read_answer(request&, reply const&, time_point now, bool retry_unsafe);

/// Returns the fields that ask for a wait longer than `patience`, as they came and as they are
/// read, for people: "Retry-After: 7200 (taken for seconds)"; "" where the head asks for none.
std::string long_wait(request const&, judgement const&, reply const&, duration patience);

/// Returns what went wrong, to people.
std::string error_of(request const&, reply const&);

}  // namespace headway::app
