// SPDX-License-Identifier: MIT
// The bytes of a file of types. The kernel hands its own out a page at a time, 5 MB of them, and a copy for the next
// start (boot_cache) costs as much again: before there is one, what is asked for is read, by the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

class FileBytes {
  public:
    // `copy`: what boot_cache calls the copy; "": there is none, and all is read at once.
    static Result<FileBytes> open(const std::string& path, std::string copy);

    size_t size() const { return size_; }
    // These bytes, which lie in the file; they stay where they are. nullptr: they can't be read.
    const uint8_t* at(size_t offset, size_t size) {
        return whole_.data() ? whole_.data() + offset : at_pages(offset, size);
    }
    // As far as its zero, which has to be in the file.
    const char* text(size_t offset) {
        return whole_.data() ? reinterpret_cast<const char*>(whole_.data()) + offset : text_in_pages(offset);
    }
    // All is in memory from here on, or in a copy that is mapped, made if need be: for who reads more than once over
    // all.
    void make_whole();
    // Leaves the copy, if there is none.
    void keep();

    // A look at one piece after the other, of which nothing stays.
    class Pass {
      public:
        explicit Pass(const FileBytes& file) : file_(file) {}
        // Until the next piece; nullptr: it can't be read.
        const uint8_t* piece(size_t offset, size_t size);
        // What was looked at; the file brings it back where it is wanted.
        void done(size_t offset, size_t size) const { file_.drop(offset, size); }

      private:
        const FileBytes& file_;
        std::unique_ptr<uint8_t[]> buffer_;
        size_t capacity_ = 0;
    };
    void drop(size_t offset, size_t size) const;

  private:
    const uint8_t* at_pages(size_t offset, size_t size);
    const char* text_in_pages(size_t offset);

    std::string copy_;
    size_t size_ = 0;
    UniqueFd fd_;                // while not all is here
    Mapping whole_, pages_;      // `pages_` has what was asked for before there was all
    std::vector<bool> is_here_;  // of each page
    bool is_copy_ = false;       // whole_ is of a file, which has what is dropped
};

}  // namespace kpl
