#!/usr/bin/sed -Ef
1s@^///@/// \\file\n///@
/^extern template /d
s@^( *)((duration (delay|wait|draw)|time_point ready_at|double allowed|(void|stamp) take|allowance left|void (admit|refuse|inherit|scale|on_(success|throttle|failure|hint)))\()@\1/// As its role says: policy.hpp, sim/limit.hpp, sim/sampling.hpp.\n\1\2@
s@^( *static constexpr .*;) +// @\1  ///< @
