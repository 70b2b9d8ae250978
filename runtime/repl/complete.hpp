// SPDX-License-Identifier: MIT
// Completer: what may stand in place of the word before the cursor, and a hint to what comes next.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "luahost/host.hpp"
#include "repl/context.hpp"
#include "session/kernel_view.hpp"

namespace kpl {

class Completer {
  public:
    // What outlives it.
    Completer(LuaHost& host, KernelView& kernel) : host_(host), kernel_(kernel) {}

    struct Answer {
        size_t length = 0;               // bytes of the word
        std::vector<std::string> words;  // the first of them, ascending
        size_t more = 0;                 // behind these
        std::string common;              // that all begin with
    };
    // Of the words that begin with `word`. A table of 150,000 has no time to be copied or sorted.
    static Answer answer_of(std::vector<std::string_view> words, std::string_view word);
    Answer complete(std::string_view before_cursor);
    // In the parameters of a handler: what it is called with. Empty: nothing to say.
    std::string hint(std::string_view before_cursor);

  private:
    std::vector<std::string> names(const InputContext& context);
    Answer targets(const std::string& word);
    std::vector<std::string> members(const InputContext& context);
    std::optional<TypeId> type_of(const InputContext& context);
    std::optional<TypeId> first_type(const InputContext& context, size_t& used);
    std::optional<Signature> signature(const InputContext::Handler& handler);

    LuaHost& host_;
    KernelView& kernel_;
};

}  // namespace kpl
