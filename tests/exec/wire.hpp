// SPDX-License-Identifier: MIT
// Handlers on their way into a VM, and what became of them on the way back: to make a handler takes a hundred times as
// long on an emulated processor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bytecode/byte_reader.hpp"
#include "engines.hpp"
#include "handler.hpp"

namespace kpl::exec {

struct Job {
    Handler handler;
    std::vector<uint8_t> memory;
};

struct Outcome {
    Ran ran;
    std::vector<uint8_t> memory;
    std::string error;  // "": it ran to its end
};

// Of the same program, on the same machine.
void put(std::string& bytes, const Job& job);
void put(std::string& bytes, const Outcome& outcome);
std::optional<Job> next_job(ByteReader& reader);  // none: at the end, or the bytes make no sense
std::optional<Outcome> next_outcome(ByteReader& reader);

}  // namespace kpl::exec
