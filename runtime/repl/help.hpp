// SPDX-License-Identifier: MIT
// Help: what the documents say of a name, and what the running kernel does.
#pragma once

#include <optional>
#include <string>

#include "luahost/host.hpp"
#include "session/kernel_view.hpp"

namespace kpl {

class Help {
  public:
    // What outlives it.
    Help(LuaHost& host, KernelView& kernel) : host_(host), kernel_(kernel) {}

    // An empty name: a tour. Text of `columns` at most, where it is prose.
    std::string about(const std::string& name, size_t columns);
    // Nothing: the name is of nothing that is known.
    std::optional<std::string> find(const std::string& name, size_t columns);
    enum class Rows { Defining, Any };
    // From the documents: the rows of tables that define the name, alone and as a member, or else the best text that
    // has it, and an example.
    static std::optional<std::string> documented(const std::string& name, size_t columns, Rows rows = Rows::Any);

  private:
    std::optional<std::string> function(const std::string& target);
    std::optional<std::string> type(const std::string& name);
    std::string unknown(const std::string& name);

    LuaHost& host_;
    KernelView& kernel_;
};

}  // namespace kpl
