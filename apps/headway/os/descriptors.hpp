/// How many files we may have open.
#pragma once

namespace headway::app {

/// Takes as many descriptors as the process may have; returns how many connections that leaves room
/// for. Errors: fatal(exit_usage) where `wanted`, of --concurrency, is more; 0: any will do.
int room_for_connections(int wanted);

}  // namespace headway::app
