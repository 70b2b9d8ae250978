// SPDX-License-Identifier: MIT
#include "symbols/file_bytes.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "symbols/boot_cache.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;

TEST_CASE("a file is read by the page until there is a copy") {
    const TempDir dir;
    setenv("KPROBE_LUA_CACHE", (dir / "cache").c_str(), 1);
    std::string content;
    for (int i = 0; i < 5000; i++) content += std::to_string(i) + '\0';
    dir.write("file", content);
    auto opened = FileBytes::open(dir / "file", "copy");
    REQUIRE(opened);
    FileBytes& file = *opened;
    REQUIRE(file.size() == content.size());
    const auto has = [&](const uint8_t* bytes, size_t offset, size_t size) {
        return bytes && memcmp(bytes, content.data() + offset, size) == 0;
    };
    const uint8_t* early = file.at(4090, 10);
    const std::string_view text = file.text(8190);
    CHECK(has(early, 4090, 10));
    CHECK(text == content.c_str() + 8190);
    CHECK(has(file.at(content.size() - 3, 3), content.size() - 3, 3));
    FileBytes::Pass pass(file);
    CHECK(has(pass.piece(100, 200), 100, 200));
    CHECK(has(pass.piece(5000, 10000), 5000, 10000));
    CHECK_FALSE(cached("copy"));

    SECTION("which is left at the end") { file.keep(); }
    SECTION("which who reads all of it makes") {
        file.make_whole();
        CHECK(has(file.at(0, content.size()), 0, content.size()));
        file.drop(0, content.size());
        CHECK(has(file.at(0, content.size()), 0, content.size()));
        CHECK(has(early, 4090, 10));  // as it was
        CHECK(text == content.c_str() + 8190);
    }
    SECTION("or all is read, where there can be none") {
        setenv("KPROBE_LUA_CACHE", "off", 1);
        file.make_whole();
        CHECK(has(file.at(0, content.size()), 0, content.size()));
        file.keep();
        setenv("KPROBE_LUA_CACHE", (dir / "cache").c_str(), 1);
        CHECK_FALSE(cached("copy"));
        file.keep();
        CHECK_FALSE(cached("copy"));
        unsetenv("KPROBE_LUA_CACHE");
        return;
    }
    const auto copy = cached("copy");
    REQUIRE(copy);
    CHECK(copy->size() == content.size());
    CHECK(has(copy->data(), 0, content.size()));
    // The next one goes by the copy, whatever has become of the file's contents.
    dir.write("file", std::string(content.size(), 'x'));
    auto next = FileBytes::open(dir / "file", "copy");
    REQUIRE(next);
    CHECK(has(next->at(0, content.size()), 0, content.size()));
    unsetenv("KPROBE_LUA_CACHE");
}
