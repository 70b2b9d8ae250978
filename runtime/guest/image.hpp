// SPDX-License-Identifier: MIT
// The root file system of a throwaway VM: our init, busybox, the program with its libraries, the host's files
// at the paths that they have on the host.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "guest/cpio.hpp"

namespace kpl {

class GuestImage {
  public:
    // Base directories, init, and busybox with all its commands ("sh", "cat", "dd", …).
    static Result<GuestImage> create();

    // A host file or directory (with all below it) under the absolute path it has on the host; symbolic links
    // on the way come along. A program or library brings the shared libraries that it needs, a script its
    // interpreter.
    Result<void> add_host(const std::string& path);

    // The same for a program that only has to run: without its debug information, which can be most of it.
    Result<void> add_program(const std::string& path);

    // The Lua files below `dir`, three levels deep: what a script beside them can `require`. Missing, and one that
    // can't be read, is no error.
    Result<void> add_lua_tree(const std::string& dir);

    // Has the shell find this program by its file's name, before every other command of that name.
    Result<void> add_command(const std::string& path);

    // The shell that this machine's scripts run in: busybox's own takes its commands before those in PATH.
    Result<void> add_host_shell();

    // For messages: `what` is in the image, with all that came since the last one.
    void note(const std::string& what);
    const std::string& holds() const { return holds_; }  // a line for each

    // A file whose bytes are at hand, readable and executable by everybody.
    void add_bytes(const std::string& path, std::string bytes) { tree_.add_file(path, std::move(bytes), 0755); }

    // An empty directory, so that something can be written there.
    Result<void> add_dir(const std::string& path);

    // One item of what init reads (protocol.h).
    void configure(std::string_view key, std::string_view value);

    std::string serialize();

  private:
    GuestImage() = default;
    Result<std::string> resolve(const std::string& path, bool follow_last);
    Result<void> add_file(const std::string& real);
    Result<void> add_directory(const std::string& path, const std::string& real);
    void add_lua_file(const std::string& path);
    Result<void> add_needs(const std::string& real);
    Result<void> add_busybox();

    CpioTree tree_;
    std::set<std::string> directories_;  // added whole
    std::string config_;
    std::string holds_;
    std::pair<std::size_t, std::size_t> noted_{0, 0};
};

// `name` as --vm-add takes it: a path, else a program looked up in PATH; absolute.
Result<std::string> find_host_file(const std::string& name);

}  // namespace kpl
