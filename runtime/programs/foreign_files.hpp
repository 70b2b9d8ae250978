// SPDX-License-Identifier: MIT
// ForeignFiles: files that processes lead to, such as what they have mapped. A look at one may never end, not even when
// who looks is killed: a file system that anybody mounted may answer to nobody. So a process of its own looks, which
// has nothing of the device, and is left behind if it takes too long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace kpl {

class ForeignFiles {
  public:
    enum class Wants : uint8_t { Contents, Elf, Presence };
    struct Door {
        std::string path;
        bool follows = true;  // a link in the last place
        // The file's number, on its device; 0: any.
        uint64_t device = 0, inode = 0;
        bool owned = false;  // by root or, if it is known, by `owner`; else by anybody
        std::optional<uid_t> owner{};
    };
    struct Found {
        size_t door;
        UniqueFd file;  // for reading; none: it is too large to be copied, or only asked for
        bool is_copy;   // in memory, of one whose server may fall silent later
    };

    ForeignFiles() = default;
    ~ForeignFiles();
    ForeignFiles(const ForeignFiles&) = delete;
    ForeignFiles& operator=(const ForeignFiles&) = delete;

    // The first door behind which there is a regular file that is wanted. Copies of ELF files have the parts that names
    // are in. Nothing: there is none, no answer came within 3 s, or nobody was asked: looks take 5 s and a twentieth of
    // the time at most.
    std::optional<Found> find(const std::vector<Door>& doors, Wants wants);
    // How often no answer came; how often nobody was asked, or what was found was too large.
    uint64_t silent() const { return silent_; }
    uint64_t unasked() const { return unasked_; }

  private:
    enum class Asked : uint8_t { Answered, Silent, Ended };
    bool start();
    void leave();
    void reap();
    Asked ask(const std::string& request);
    std::optional<Found> answer();

    const std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration spent_{};
    UniqueFd process_, line_;     // who looks; where they are asked
    std::vector<UniqueFd> left_;  // others, which have not ended yet
    uint64_t silent_ = 0, unasked_ = 0;
};

}  // namespace kpl
