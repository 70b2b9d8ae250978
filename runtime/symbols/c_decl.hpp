// SPDX-License-Identifier: MIT
// C declarations of types, both ways: spelled for messages, parsed from a script.
#pragma once

#include <string>
#include <string_view>

#include "symbols/type_graph.hpp"

namespace kpl {

// "struct file *", or with a name "struct file *file"; a function's name makes its declaration.
Result<std::string> spell_type(const TypeGraph& graph, TypeId type, const std::string& name = {});

// A base type with any number of '*' and '[n]' behind: "const struct file*", "unsigned long", "u32",
// "char[16]". Qualifiers are dropped, but for a `user` (or `__user`) before the last '*'. Loads modules' BTF when
// vmlinux does not know a name.
Result<Declaration> parse_type(TypeGraph& graph, std::string_view text);

// The usual spelling of an integer that BTF calls "long unsigned int".
std::string_view usual_spelling(std::string_view btf_name);

}  // namespace kpl
