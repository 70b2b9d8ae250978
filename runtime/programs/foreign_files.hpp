// SPDX-License-Identifier: MIT
// ForeignFiles: files that processes lead to, such as what they have mapped. A look at one may never end, not even when
// who looks is killed: a file system that anybody mounted may answer to nobody, and who waits for one may hold what the
// kernel needs to tell of a process. So a process of its own looks, which has nothing of the device, and is left behind
// if it takes too long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace kpl {

class ForeignFiles {
  public:
    enum class Wants : uint8_t { Contents, Elf, Presence, Proc };
    struct Door {
        std::string path;
        bool follows = true;  // a link in the last place
        // The file's number, on its device; 0: any.
        uint64_t device = 0, inode = 0;
        bool owned = false;  // by root or, if it is known, by `owner`; else by anybody
        std::optional<uid_t> owner{};
    };
    // Silent: no answer came within 3 s, now or within the last hour. Unasked: no look was made.
    enum class What : uint8_t { There, Nothing, TooLarge, Silent, Unasked };
    static bool is_answer(What what) { return what != What::Silent && what != What::Unasked; }
    struct Found {
        size_t door = 0;
        UniqueFd file{};       // for reading; none: it is not there, or only asked for
        bool is_copy = false;  // in memory, of one whose server may fall silent later
        What what = What::There;

        explicit operator bool() const { return what == What::There; }
    };
    struct Texts {
        What what;
        std::vector<std::string> of;  // each file's; empty: there is none
    };

    ForeignFiles() = default;
    virtual ~ForeignFiles();
    ForeignFiles(const ForeignFiles&) = delete;
    ForeignFiles& operator=(const ForeignFiles&) = delete;

    // The first door behind which there is a regular file that is wanted. Copies of ELF files have the parts that names
    // are in. Looks take 5 s and a twentieth of the time at most.
    virtual Found find(const std::vector<Door>& doors, Wants wants);
    // Files that the kernel makes up (/proc), read one after the other; of each, the first 16 MB.
    Texts read(const std::vector<std::string>& paths);
    // How often no answer came, nobody was asked, and what was found was too large to be copied.
    uint64_t silent() const { return silent_; }
    uint64_t unasked() const { return unasked_; }
    uint64_t too_large() const { return too_large_; }

    // How many may be left behind after so much time.
    static size_t most_left(std::chrono::steady_clock::duration ran);

  private:
    enum class Asked : uint8_t { Answered, Silent, Ended };
    bool start();
    void leave();
    void reap();
    Asked ask(const std::string& request);
    Found answer();
    Found not_answered(Asked asked, std::string key);

    const std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration spent_{};
    UniqueFd process_, line_;                                                   // who looks; where they are asked
    std::vector<UniqueFd> left_;                                                // others, which have not ended yet
    std::map<std::string, std::chrono::steady_clock::time_point> asked_again_;  // who was silent: not before
    uint64_t silent_ = 0, unasked_ = 0, too_large_ = 0;
};

}  // namespace kpl
