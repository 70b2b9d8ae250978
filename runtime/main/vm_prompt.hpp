// SPDX-License-Identifier: MIT
// What a prompt inside a VM leaves outside: its history, and the scripts that were saved.
#pragma once

#include "guest/guest.hpp"

namespace kpl {

// Gives the guest the history of this machine's prompts. When the guest ends, new inputs are added to it, and saved
// scripts are written where they were saved, never over a file that is there.
void keep_prompts_work(GuestSpec& spec);

}  // namespace kpl
