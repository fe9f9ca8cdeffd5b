#pragma once

/// Marks what the shared libraries export. All else in them is hidden, and free to change between
/// versions of one soname. In the single header it means `inline`.
#define HEADWAY_EXPORT __attribute__((visibility("default")))
