// SPDX-License-Identifier: MIT
#include "arch/arch.hpp"

#include "arch/rows.hpp"

namespace kpl {

std::optional<uint16_t> Arch::reg(std::string_view wanted) const {
    for (const RegisterRow& row : regs)
        if (row.name == wanted) return row.offset;
    return std::nullopt;
}

const Arch& host_arch() {
#if defined(__x86_64__)
    return x86_64;
#elif defined(__aarch64__)
    return arm64;
#else
#error "no row for this architecture: see arch/x86_64.cpp"
#endif
}

std::span<const Arch* const> all_archs() {
    static constexpr const Arch* archs[] = {&x86_64, &arm64};
    return archs;
}

}  // namespace kpl
