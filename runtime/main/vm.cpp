// SPDX-License-Identifier: MIT
#include "main/vm.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "arch/disasm.hpp"
#include "guest/guest.hpp"
#include "main/tools.hpp"
#include "main/vm_prompt.hpp"
#include "programs/program.hpp"
#include "repl/editor.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

fs::path own_path() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error);
}

// LuaJIT's own Lua files (jit.vmdef names the opcodes): the directories of its usual places that exist.
std::vector<std::string> luajit_directories() {
    std::vector<std::string> found;
    std::error_code error;
    for (const char* share : {"/usr/share", "/usr/local/share"})
        for (const auto& entry : fs::directory_iterator(share, error))
            if (entry.path().filename().string().starts_with("luajit-2.")) found.push_back(entry.path() / "jit");
    return found;
}

// What our terminal can do, for libraries that look it up; empty: the database has no such terminal.
std::string terminfo_entry() {
    const char* term = std::getenv("TERM");
    if (!term || !*term || std::strchr(term, '/')) return {};
    std::error_code error;
    for (const char* database : {"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"})
        if (const fs::path entry = fs::path(database) / std::string(1, *term) / term; fs::exists(entry, error))
            return entry;
    return {};
}

}  // namespace

std::string module_directory() {
    if (const char* dir = std::getenv("KPROBE_LUA_MODULE_DIR")) return dir;
    std::error_code error;
    const fs::path built = own_path().parent_path() / "kmod";
    return fs::is_directory(built, error) ? built.string() : "/lib/modules";
}

// The tools, the modules that they share, and the library that reads their options.
void add_tools(GuestSpec& spec) {
    std::error_code error;
    for (const std::string& dir : tool_directories()) spec.lua_trees.push_back(fs::absolute(dir));
    if (const std::string own = lua_directory(); !own.empty()) spec.lua_trees.push_back(own + "/kprobe");
    for (const char* share : {"/usr/share/lua/5.1/argparse.lua", "/usr/local/share/lua/5.1/argparse.lua"})
        if (fs::exists(share, error)) spec.files.push_back(share);
}

Result<int> run_in_vm(const CommandLine& line) {
    const RunOptions& options = line.options;
    GuestSpec spec;
    spec.kernel = line.vm_kernel;
    // A command alone runs in a shell, with this program in its PATH: for several scripts in one boot.
    const bool command_alone = options.script.empty() && !options.code && line.inspect.empty() && !options.prompt;
    spec.keyboard = options.prompt;
    if (options.prompt) {
        if (const std::string entry = terminfo_entry(); !entry.empty()) spec.files.push_back(entry);
        spec.files.push_back(line_editing_library());
        keep_prompts_work(spec);
    }
    spec.program = command_alone ? fs::path("/bin/sh") : own_path();
    spec.argv = command_alone ? std::vector<std::string>{"-c", *options.command} : line.vm_argv;
    spec.module_dir = module_directory();
    spec.add = line.vm_add;
    if (command_alone) spec.add.push_back(own_path());
    spec.verbose = options.verbose;
    spec.lua_trees = luajit_directories();
    // The program itself does not name what it loads when something first needs it.
    for (const char* library : elf_libraries())
        if (fs::exists(library)) spec.files.push_back(library);
    if (fs::exists(disassembler_library())) spec.files.push_back(disassembler_library());
    if (options.script == "-") {
        spec.input = std::string(std::istreambuf_iterator<char>(std::cin), {});
    } else if (!options.script.empty() && !line.tool && line.inspect.empty()) {
        const fs::path script = options.script;
        std::error_code error;
        if (!fs::exists(script, error))
            return Error{Errc::system, "cannot open " + options.script + ": No such file or directory"};
        spec.files.push_back(fs::absolute(script));
        // Lua modules beside the script come along.
        spec.lua_trees.push_back(fs::absolute(script).parent_path());
    }
    if (line.inspect.empty()) add_tools(spec);  // scripts may be tools, too
    for (const std::string& dir : options.search_dirs)
        if (dir != lua_directory()) spec.lua_trees.push_back(fs::absolute(dir));
    if (!options.output.empty()) spec.fetch.push_back(fs::absolute(options.output));
    return run_guest(spec);
}

}  // namespace kpl
