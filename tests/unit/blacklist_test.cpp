// SPDX-License-Identifier: MIT
#include "symbols/blacklist.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

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

namespace {

constexpr uint64_t head = 0xffffffff82000010, text = 0xffffffff81000000;

// The kernel's list in pages of memory: word by word, by address.
struct FakeKernel {
    std::map<uint64_t, uint64_t> words;
    size_t pages_read = 0;

    explicit FakeKernel(const std::vector<uint64_t>& entries) {
        uint64_t before = head;
        for (size_t i = 0; i < entries.size(); i++) {
            put(before, entries[i]);
            put(entries[i] + 8, before);
            put(entries[i] + 16, text + 32 * i);
            put(entries[i] + 24, text + 32 * i + 16);
            before = entries[i];
        }
        put(before, head);
        put(head + 8, before);
    }
    void put(uint64_t addr, uint64_t value) { words[addr] = value; }
    bool read(uint64_t addr, std::span<uint8_t> into) {
        if (words.lower_bound(addr) == words.lower_bound(addr + into.size())) return false;
        pages_read++;
        std::fill(into.begin(), into.end(), 0);
        for (auto at = words.lower_bound(addr); at != words.end() && at->first < addr + into.size(); ++at)
            std::memcpy(into.data() + (at->first - addr), &at->second, 8);
        return true;
    }
    std::optional<Blacklist> walk() {
        return Blacklist::walk(head, [this](uint64_t addr, std::span<uint8_t> into) { return read(addr, into); });
    }
};

const std::vector<uint64_t> entries = {0xffff888001000040, 0xffff888001000020, 0xffff888001005fe0, 0xffff888001000000};

}  // namespace

TEST_CASE("blacklist: walked in the kernel's memory, page by page") {
    FakeKernel kernel(entries);
    const auto list = kernel.walk();
    REQUIRE(list);
    CHECK(list->ranges().size() == 4);
    CHECK(kernel.pages_read == 3);
    for (uint64_t i = 0; i < 4; i++) {
        CHECK(list->covers(text + 32 * i));
        CHECK(list->covers(text + 32 * i + 15));
        CHECK_FALSE(list->covers(text + 32 * i + 16));
    }
}

TEST_CASE("blacklist: what does not read as a list of ranges is none") {
    CHECK_FALSE(FakeKernel({}).walk());
    const auto without = [](uint64_t addr, uint64_t value) {
        FakeKernel kernel(entries);
        kernel.put(addr, value);
        return kernel.walk();
    };
    CHECK_FALSE(without(entries[1] + 8, entries[2]));      // another one before it
    CHECK_FALSE(without(entries[1] + 24, text + 32));      // ends where it begins
    CHECK_FALSE(without(entries[1] + 16, 0x1000));         // user space
    CHECK_FALSE(without(entries[1], 0));                   // leads nowhere
    CHECK_FALSE(without(entries[1], 0xffff888001005ff0));  // across a page's end
    CHECK_FALSE(without(entries[3], entries[0]));          // a ring without its head
    CHECK_FALSE(without(head + 8, entries[2]));            // the last one has come meanwhile
}
