/// Fields: the named values of a line of JOBS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simdjson::dom {
class object;
}

namespace headway::app {

/// A value of a record: a string, or compact JSON that is none.
struct field_value {
  std::string text;
  bool is_json = false;
};

struct named_field {
  std::string name;
  field_value value;
};
using named_fields = std::vector<named_field>;

/// Returns the members of `object`, which was read from `text`.
named_fields fields_of(simdjson::dom::object const& object, std::string_view text);

/// The field of that name, null if there is none.
field_value const* find_field(named_fields const&, std::string_view name) noexcept;

/// Throws std::invalid_argument, which tells what there is instead of the `what` called `field`
/// that `by` asks for.
[[noreturn]] void lacks(std::string_view field, std::string_view what, std::string_view by,
                        std::vector<std::string> const& names);

}  // namespace headway::app
