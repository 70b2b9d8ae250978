// SPDX-License-Identifier: MIT
// Result<T>: a value or one Error. TRY unwraps or returns the error to the caller.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "base/printable.hpp"

namespace kpl {

// What an error means for the exit status and for who can mend it.
enum class Errc {
    script,  // the script is wrong: syntax, types, an unknown name
    usage,   // the command line is wrong
    system,  // the machine refuses or lacks something: rights, module, kernel, file
};

struct SourceLoc {
    std::string file;  // as the chunk was named; empty when there is no place in a script
    int line = 0;      // 1-based; 0 when unknown

    bool operator==(const SourceLoc&) const = default;
};

struct Error {
    Errc code = Errc::system;
    std::string text;
    SourceLoc at{};
    bool passes = false;  // for want of memory: the same may work later

    // "file:line: text", or the text alone when there is no place.
    std::string message() const {
        if (at.file.empty()) return text;
        if (at.line == 0) return printable(at.file) + ": " + text;
        return printable(at.file) + ":" + std::to_string(at.line) + ": " + text;
    }
};

// Errors of a script that are told in one round: one keeps its place, several are a line each.
class ErrorRound {
  public:
    void add(const Error& error) {
        all_ = all_.text.empty() ? Error{Errc::script, error.text, error.at}
                                 : Error{Errc::script, all_.message() + "\n" + error.message()};
    }
    bool empty() const { return all_.text.empty(); }
    const Error& error() const { return all_; }

  private:
    Error all_{};
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & {
        assert(ok());
        return std::get<0>(state_);
    }
    const T& value() const& {
        assert(ok());
        return std::get<0>(state_);
    }
    T&& value() && {
        assert(ok());
        return std::get<0>(std::move(state_));
    }

    const Error& error() const& {
        assert(!ok());
        return std::get<1>(state_);
    }
    Error&& error() && {
        assert(!ok());
        return std::get<1>(std::move(state_));
    }

    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {}

    bool ok() const { return ok_; }
    explicit operator bool() const { return ok_; }
    void value() const { assert(ok_); }
    const Error& error() const& {
        assert(!ok_);
        return error_;
    }
    Error&& error() && {
        assert(!ok_);
        return std::move(error_);
    }

  private:
    Error error_{};
    bool ok_ = true;
};

}  // namespace kpl

// A statement expression (GCC and Clang): yields the value, or returns the error from the enclosing function.
#define TRY(expr)                                                     \
    ({                                                                \
        auto try_result_ = (expr);                                    \
        if (!try_result_.ok()) return std::move(try_result_).error(); \
        std::move(try_result_).value();                               \
    })
