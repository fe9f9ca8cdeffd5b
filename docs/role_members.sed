#!/usr/bin/sed -Ef
/^extern template /d
s@^( *)((duration delay|time_point ready_at|double allowed|(void|stamp) take|void on_(success|throttle|failure|hint))\()@\1/// As its role in policy.hpp says.\n\1\2@
s@^( *static constexpr .*;) +// @\1  ///< @
