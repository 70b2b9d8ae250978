// SPDX-License-Identifier: MIT
// A kernel's BTF made by hand, as a file in a directory like /sys/kernel/btf.
#pragma once

#include <bpf/btf.h>

#include <catch2/catch.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "temp_dir.hpp"

namespace kpl::test {

using Btf = std::unique_ptr<btf, decltype(&btf__free)>;

inline Btf new_btf() { return {btf__new_empty(), btf__free}; }
// Its types are numbered from the end of those of `base`.
inline Btf new_btf(const Btf& base) { return {btf__new_empty_split(base.get()), btf__free}; }

inline void save(const TempDir& dir, const std::string& name, const Btf& b) {
    __u32 size = 0;
    const auto* data = static_cast<const char*>(btf__raw_data(b.get(), &size));
    REQUIRE(data);
    dir.write(name, {data, size});
}

using BtfParams = std::initializer_list<std::pair<const char*, int>>;

inline int add_proto(btf* b, int result, BtfParams params) {
    const int proto = btf__add_func_proto(b, result);
    for (const auto& [name, type] : params) btf__add_func_param(b, name, type);
    return proto;
}

// A static function; its id.
inline int add_function(btf* b, const char* name, int result, BtfParams params) {
    return btf__add_func(b, name, BTF_FUNC_STATIC, add_proto(b, result, params));
}

}  // namespace kpl::test
