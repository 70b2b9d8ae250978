// SPDX-License-Identifier: MIT
#include "symbols/target_text.hpp"

#include <catch2/catch.hpp>

using namespace kpl;

TEST_CASE("a place in the kernel as people write it") {
    const struct {
        const char *text, *module, *symbol;
        uint64_t offset;
    } rows[] = {
        {"vfs_read", "", "vfs_read", 0},
        {"vfs_read+0x1a", "", "vfs_read", 0x1a},
        {"vfs_read+0X1A", "", "vfs_read", 0x1a},
        {"f+1", "", "f", 1},
        {"ext4:ext4_sync_fs+26", "ext4", "ext4_sync_fs", 26},
        {"vfs_*", "", "vfs_*", 0},
        {"f+0xffffffffffffffff", "", "f", UINT64_MAX},
    };
    for (const auto& row : rows) {
        INFO(row.text);
        const auto target = parse_target(row.text);
        REQUIRE(target.ok());
        CHECK(target->module == row.module);
        CHECK(target->symbol == row.symbol);
        CHECK(target->offset == row.offset);
    }
}

TEST_CASE("what is no place") {
    const struct {
        const char *text, *error;
    } rows[] = {
        {"", "target '' names no symbol"},
        {":f", "target ':f' names no module"},
        {"m:", "target 'm:' names no symbol"},
        {"+1", "target '+1' names no symbol"},
        {"f+", "target 'f+': the offset '' is not a number"},
        {"f+0x", "target 'f+0x': the offset '0x' is not a number"},
        {"f+1z", "target 'f+1z': the offset '1z' is not a number"},
        {"f+-1", "target 'f+-1': the offset '-1' is not a number"},
        {"f+1+1", "target 'f+1+1': the offset '1+1' is not a number"},
        {"f+0x10000000000000000", "target 'f+0x10000000000000000': the offset '0x10000000000000000' is not a number"},
    };
    for (const auto& row : rows) {
        INFO(row.text);
        const auto target = parse_target(row.text);
        REQUIRE_FALSE(target.ok());
        CHECK(target.error().text == row.error);
        CHECK(target.error().code == Errc::script);
    }
}

TEST_CASE("numbers and addresses") {
    CHECK(parse_number("0x10") == 16);
    CHECK(parse_number("10") == 10);
    CHECK(parse_number("") == std::nullopt);
    CHECK(parse_number("0x") == std::nullopt);
    CHECK(parse_number("vfs_read") == std::nullopt);
    CHECK(parse_address("0xffffffff81000000") == 0xffffffff81000000);
    CHECK(parse_address("10") == std::nullopt);
    CHECK(parse_address("0xffffffff81000000+1") == std::nullopt);
}
