// SPDX-License-Identifier: MIT
// Sources: for each kind of thing that a target may name, where its places are and what is passed there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/unit.hpp"
#include "session/kernel_view.hpp"
#include "session/targets.hpp"

namespace kpl {

// All places of a declaration, as resolve_targets() has them for functions.
Result<Resolved> resolve(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand& blacklist,
                         bool addresses);

// What a place of that source passes; nullopt: BTF does not know.
Result<std::optional<Signature>> signature_at(Source source, const KernelPlace& place, Types& types);

// Names that a target of that source may be, as they are known without reading much, for one that begins with `word`;
// of functions and data, none.
std::vector<std::string> target_names(Source source, KernelView& kernel, const std::string& word);

// As messages call it, and where its handlers find what is passed.
struct SourceRow {
    const char* name;
    Passed passed;
    bool of_process = false;  // what is passed there is the process's
};
const SourceRow& source_row(Source source);

}  // namespace kpl
