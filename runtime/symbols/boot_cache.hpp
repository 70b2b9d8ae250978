// SPDX-License-Identifier: MIT
// Copies of what the kernel takes long to give and never changes while it runs, for the next start: files in
// /run/kprobe-lua/<boot id>/ for root, in $XDG_RUNTIME_DIR/kprobe-lua/<boot id>/ for others, or in
// $KPROBE_LUA_CACHE/<boot id>/; "off" there means none. Only directories that are ours alone are trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/mapping.hpp"

namespace kpl {

// The copy of that name, if there is one.
std::optional<Mapping> cached(const std::string& name);

// Makes the copy, or replaces it. Where it can't be made, there is none.
void keep_cached(const std::string& name, std::span<const uint8_t> bytes);

// Makes it of a file's first `size` bytes, of which little is in memory at a time, and gives it; nullopt: it can't be
// made.
std::optional<Mapping> copy_to_cache(const std::string& name, int fd, size_t size);

}  // namespace kpl
