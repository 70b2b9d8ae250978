// SPDX-License-Identifier: MIT
#include "symbols/blacklist.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>

using namespace kpl;

namespace {

Result<Blacklist> blacklist_of(const std::string& text) {
    const std::string path = "blacklist_test.tmp";
    std::ofstream(path) << text;
    auto list = Blacklist::read(path);
    std::remove(path.c_str());
    return list;
}

}  // namespace

TEST_CASE("blacklist: ranges, unsorted and overlapping") {
    const auto list = blacklist_of(
        "0xffffffff81002000-0xffffffff81003000\touter\n"
        "0xffffffff81000010-0xffffffff81000020\tfirst\n"
        "0xffffffff81002010-0xffffffff81002020\tinner part\n");
    REQUIRE(list);
    CHECK(list->ranges().size() == 3);
    CHECK(list->ranges()[2].name == "inner part");
    CHECK_FALSE(list->covers(0xffffffff8100000f));
    CHECK(list->covers(0xffffffff81000010));
    CHECK(list->covers(0xffffffff8100001f));
    CHECK_FALSE(list->covers(0xffffffff81000020));
    CHECK(list->covers(0xffffffff81002018));
    CHECK(list->covers(0xffffffff81002fff));
    CHECK_FALSE(list->covers(0xffffffff81003000));
}

TEST_CASE("blacklist: what can't be read is said") {
    CHECK_FALSE(blacklist_of("nonsense\n"));
    CHECK_FALSE(blacklist_of("0x10-0x10\tempty\n"));
    CHECK_FALSE(blacklist_of("0x10-0x20\n"));
    const auto none = Blacklist::read("/nonexistent");
    REQUIRE_FALSE(none);
    CHECK(none.error().text.find("mount -t debugfs") != std::string::npos);
    CHECK(blacklist_of("")->ranges().empty());
}
