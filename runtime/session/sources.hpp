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

// Every name that a target of that source may be, as it is known without reading much; of functions and data, none.
std::vector<std::string> target_names(Source source, KernelView& kernel);

// As messages call it, and where its handlers find what is passed.
struct SourceRow {
    const char* name;
    Passed passed;
};
const SourceRow& source_row(Source source);

}  // namespace kpl
