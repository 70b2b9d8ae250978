// SPDX-License-Identifier: MIT
// What stands before the cursor, as far as it says what may come next. The text need be no whole Lua.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

struct InputContext {
    enum class Kind {
        Name,    // behind `path`, or a variable
        Target,  // of a probe: within its string
        Option,  // of `callee`: a key of its table
        File,    // within a string
        CType,   // within a string
        Nothing,
    };
    // The handler that the cursor is in.
    struct Handler {
        std::string declares;  // "kprobe"
        std::string target;
        std::string side;  // "pre", "ret"; empty: it is an argument
        std::vector<std::string> params;
        bool in_params = false;
    };

    Kind kind = Kind::Nothing;
    std::string word;               // that is to be completed
    std::vector<std::string> path;  // "ffi"; "task()"; "(struct file *)" for a cast; "[1]" for an index; empty: none
    bool method = false;            // behind ':'
    std::string callee;             // of the table or string that the cursor is in
    std::optional<Handler> handler;
};

InputContext context_of(std::string_view text);

}  // namespace kpl
