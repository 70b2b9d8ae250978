// SPDX-License-Identifier: MIT
// Rare<T>: a T that is as it was made, mostly: then it takes the room of a pointer.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

namespace kpl {

template <class T>
class Rare {
  public:
    Rare() = default;
    Rare(const T& value) requires std::equality_comparable<T>
        : own_(value == T() ? nullptr : std::make_unique<T>(value)) {}
    Rare(const Rare& other) : own_(other.own_ ? std::make_unique<T>(*other.own_) : nullptr) {}
    Rare(Rare&&) noexcept = default;
    Rare& operator=(Rare other) noexcept {
        own_ = std::move(other.own_);
        return *this;
    }
    ~Rare() = default;

    const T& operator*() const { return own_ ? *own_ : usual(); }
    const T* operator->() const { return &**this; }
    T& edit() {
        if (!own_) own_ = std::make_unique<T>();
        return *own_;
    }

  private:
    static const T& usual() {
        static const T value{};
        return value;
    }
    std::unique_ptr<T> own_;
};

}  // namespace kpl
