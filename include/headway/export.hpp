#pragma once

/// Exports a symbol from the shared libraries. Everything else in them is hidden and may change
/// between versions of one soname. In the single header it means `inline`.
#define HEADWAY_EXPORT __attribute__((visibility("default")))
