// SPDX-License-Identifier: MIT
#include "wire.hpp"

#include <cstring>
#include <tuple>
#include <type_traits>

namespace kpl::exec {

namespace {

// Whatever has a size follows it.
class Writer {
  public:
    explicit Writer(std::string& out) : out_(out) {}
    template <class T>
    void operator()(const T& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            out_.append(reinterpret_cast<const char*>(&value), sizeof value);
        } else {
            (*this)(value.size());
            out_.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof value[0]);
        }
    }

  private:
    std::string& out_;
};

class Reader {
  public:
    explicit Reader(ByteReader& in) : in_(in) {}
    template <class T>
    void operator()(T& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            copy(&value, sizeof value);
        } else {
            size_t n = 0;
            (*this)(n);
            value.resize(std::min(n, in_.remaining() / sizeof value[0]));
            copy(value.data(), n * sizeof value[0]);
        }
    }

  private:
    void copy(void* to, size_t size) {
        const auto bytes = in_.take(size);
        if (!bytes.empty()) std::memcpy(to, bytes.data(), size);
    }
    ByteReader& in_;
};

auto parts(auto& job) requires requires { job.handler; }
{
    auto& h = job.handler;
    return std::tie(h.insns, h.labels, h.origin, h.data_size, h.offset, h.memory, h.first_constant, h.regs, h.context,
                    job.memory);
}

auto parts(auto& outcome) requires requires { outcome.ran; }
{ return std::tie(outcome.ran.r0, outcome.ran.ns, outcome.memory, outcome.error); }

template <class T>
void put_parts(std::string& bytes, const T& value) {
    Writer write(bytes);
    std::apply([&write](const auto&... part) { (write(part), ...); }, parts(value));
}

template <class T>
std::optional<T> next(ByteReader& reader) {
    if (reader.at_end()) return std::nullopt;
    T value;
    Reader read(reader);
    std::apply([&read](auto&... part) { (read(part), ...); }, parts(value));
    return reader.ok() ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace

void put(std::string& bytes, const Job& job) { put_parts(bytes, job); }
void put(std::string& bytes, const Outcome& outcome) { put_parts(bytes, outcome); }
std::optional<Job> next_job(ByteReader& reader) { return next<Job>(reader); }
std::optional<Outcome> next_outcome(ByteReader& reader) { return next<Outcome>(reader); }

}  // namespace kpl::exec
