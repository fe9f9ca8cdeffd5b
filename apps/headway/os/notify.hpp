/// Words to the service manager that started us.
#pragma once

#include <string_view>

namespace headway::app {

/// Tells systemd how a service stands: "READY=1", "RELOADING=1", "STOPPING=1". Does nothing where
/// NOTIFY_SOCKET is not set. Source: sd_notify(3).
void notify_manager(std::string_view state) noexcept;

}  // namespace headway::app
