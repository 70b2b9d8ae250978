// SPDX-License-Identifier: MIT
// The kernel's symbols, as /proc/kallsyms has them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct Symbol {
    std::string name;
    std::string module;  // empty: vmlinux
    uint64_t addr = 0;
    char kind = 't';  // as kallsyms prints it
};

class Kallsyms {
  public:
    explicit Kallsyms(std::string path = "/proc/kallsyms");
    ~Kallsyms();
    Kallsyms(Kallsyms&&) noexcept;
    Kallsyms& operator=(Kallsyms&&) noexcept;

    // All text symbols of that name (several are duplicates that the user must tell apart). Without a module, those
    // of vmlinux, else those of all modules: the kernel's own order of search. An error says why the table can't be
    // used (addresses hidden by kptr_restrict, unreadable).
    Result<std::vector<Symbol>> find(std::string_view name, std::string_view module = {});
    // find() will be asked for these: one pass over the kernel's tables finds them all.
    void expect(std::vector<std::string> names);
    // It has been: frees what that took.
    void expect_no_more();
    // Frees what can be read again; `later` is going to be asked for, and is looked up before, if it costs little.
    void rest(std::string_view later = {});
    // Glob with * ? [a-z], text symbols, ascending by name.
    Result<std::vector<Symbol>> glob(std::string_view pattern, std::string_view module = {});
    // Each text symbol whose name begins so, in no order, with repetitions. Names live until the next call of anything.
    Result<void> each_function(std::string_view begin, std::string_view module,
                               const std::function<void(std::string_view)>& visit);
    // Symbols of any kind, in all parts of the kernel, whose name begins so; their addresses are 0 where they are
    // hidden.
    Result<std::vector<Symbol>> beginning(std::string_view begin);
    // The symbol that covers the address; offset = addr - symbol.addr. nullopt-like: empty name. In modules that have
    // come since the table was read, too.
    Result<Symbol> at(uint64_t addr);
    // Of the names that a function has, the one that at() is to give.
    void prefer(uint64_t addr, std::string name);
    // A number, no address, that name_of() knows by this name: of what lies in no kernel.
    uint64_t number_of(const std::string& name);
    // What prefer() was told has this name; 0: nothing.
    uint64_t preferred(std::string_view name) const;
    // Where the next symbol of any kind begins, of the same part of the kernel; 0 if none follows.
    Result<uint64_t> next(uint64_t addr);
    // Of vmlinux, whatever its kind; 0: no such symbol.
    Result<uint64_t> address(std::string_view name);
    // The same without reading all of /proc/kallsyms for it; 0: there is no such symbol, or that would be needed.
    uint64_t quick_address(std::string_view name);
    // "vfs_read+0x1a", "name [module]", or "0x…" when nothing covers it. Of the modules that went last, too.
    std::string name_of(uint64_t addr);
    // Names near to a misspelt one, best first, at most three.
    Result<std::vector<std::string>> near(std::string_view name);
    // When there is time for it: leaves what was found where the next start finds it sooner.
    void keep();
    // Forgets the table if modules have come, gone or moved since it was read: the next question reads it again.
    // True: it has.
    bool refresh();

  private:
    void renew(bool same);

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace kpl
