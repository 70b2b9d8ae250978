// SPDX-License-Identifier: MIT
// Programs and libraries: by name, their functions, and where these lie in the file. What is looked into is this test.
#include "programs/program.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "arch/arch.hpp"
#include "programs/find_program.hpp"

using namespace kpl;

extern "C" [[gnu::noinline]] int kpl_test_function(int n) { return n * 3 + 1; }

namespace {

constexpr const char* self = "/proc/self/exe";

std::string error_of(const std::string& path) {
    const auto program = Program::open(path, host_arch().elf_machine);
    return program ? "" : program.error().text;
}

struct Directory {
    std::filesystem::path path;
    explicit Directory(const std::string& name)
        : path(std::filesystem::temp_directory_path() / (name + "." + std::to_string(getpid()))) {
        std::filesystem::create_directories(path);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    void add(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
};

}  // namespace

TEST_CASE("a function is found by name and by address, and its code is that of the file") {
    auto opened = Program::open(self, host_arch().elf_machine);
    REQUIRE(opened);
    Program& program = **opened;
    const auto found = program.find("kpl_test_function");
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    const ProgramSymbol function = found->front();
    CHECK(function.is_function);
    CHECK_FALSE(function.indirect);
    CHECK_FALSE(program.stripped());
    const auto code = program.code(function.address, function.size);
    REQUIRE(code.size() == function.size);
    CHECK(std::memcmp(code.data(), reinterpret_cast<const void*>(&kpl_test_function), code.size()) == 0);
    const auto inside = program.at(function.address + function.size - 1);
    REQUIRE(inside);
    REQUIRE(*inside);
    CHECK((*inside)->name == "kpl_test_function");
    CHECK_FALSE(program.file_offset(1));
    CHECK(program.code(1, 8).empty());
    const auto nowhere = program.at(1);
    REQUIRE(nowhere);
    CHECK_FALSE(*nowhere);
    CHECK(kpl_test_function(1) == 4);
}

TEST_CASE("what is no program is refused with the reason") {
    CHECK(error_of("/no/such") == "/no/such: No such file or directory");
    CHECK(error_of("/dev/null") == "/dev/null is no file that can be run");
    CHECK(error_of("/proc/version").find("is no ELF file") != std::string::npos);
    const auto other = Program::open(self, 0);
    REQUIRE_FALSE(other);
    CHECK(other.error().text == "/proc/self/exe is for another machine than this one");
}

TEST_CASE("programs and libraries are found where they would be run from") {
    const Directory bin("programs_test.bin"), lib("programs_test.lib");
    const std::string elf = "\177ELF";
    bin.add("worker", "");
    std::filesystem::permissions(bin.path / "worker", std::filesystem::perms::owner_all);
    lib.add("libone.so.6", elf);
    lib.add("libone.so", "INPUT(libone.so.6)");
    lib.add("libtwo.so.1", elf);
    lib.add("libtwo.so.2", elf);
    const ProgramPaths paths{{bin.path}, {lib.path}, 0};
    const auto text = [&](const std::string& name) {
        const auto found = find_program(name, paths);
        return found ? std::filesystem::path(*found).filename().string() : found.error().text;
    };
    CHECK(text("worker") == "worker");
    CHECK(text("libone") == "libone.so.6");
    CHECK(text("libtwo.so.1") == "libtwo.so.1");
    const ProgramPaths other{{}, {lib.path}, 62};
    CHECK_FALSE(find_program("libone", other));
    CHECK(text("libtwo").starts_with("'libtwo' is 2 libraries here: libtwo.so."));
    CHECK(text("wroker") == "no program or library 'wroker'; near to it: worker");
    CHECK(text("./any/path") == "path");
    CHECK(program_names("lib", paths) == std::vector<std::string>{"libone", "libtwo"});
}
