// SPDX-License-Identifier: MIT
// Programs and libraries: by name, their functions, and where these lie in the file. What is looked into is this test.
#include "programs/program.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "arch/arch.hpp"
#include "base/regular_file.hpp"
#include "programs/find_program.hpp"
#include "programs/memory_map.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using kpl::test::TempDir;

extern "C" [[gnu::noinline]] int kpl_test_function(int n) { return n * 3 + 1; }

namespace {

// A file of 64 bits with `count` symbols, all of which have the same name, in a table of strings with these flags.
std::string many_names(size_t count, size_t length, uint64_t flags = 0, char letter = 'x') {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64, head.e_ident[EI_DATA] = ELFDATA2LSB, head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_DYN, head.e_machine = EM_X86_64, head.e_version = EV_CURRENT;
    head.e_ehsize = sizeof head, head.e_phoff = sizeof head, head.e_phentsize = sizeof(Elf64_Phdr), head.e_phnum = 1;
    head.e_shoff = sizeof head + sizeof(Elf64_Phdr), head.e_shentsize = sizeof(Elf64_Shdr), head.e_shnum = 3;
    const size_t symbols_at = head.e_shoff + 3 * sizeof(Elf64_Shdr), names_at = symbols_at + count * sizeof(Elf64_Sym);
    const Elf64_Phdr code{PT_LOAD, PF_R | PF_X, 0, 0, 0, 1 << 20, 1 << 20, 4096};
    Elf64_Shdr sections[3] = {};
    sections[1].sh_type = SHT_SYMTAB, sections[1].sh_offset = symbols_at, sections[1].sh_link = 2;
    sections[1].sh_size = count * sizeof(Elf64_Sym), sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[2].sh_type = SHT_STRTAB, sections[2].sh_offset = names_at, sections[2].sh_size = length + 2;
    sections[2].sh_flags = flags;
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes.append(reinterpret_cast<const char*>(&code), sizeof code);
    bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym symbol{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 4096 + i, 1};
        bytes.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    }
    return bytes + '\0' + std::string(length, letter) + '\0';
}

// The same with its table of strings larger than one of somebody else's may be; it takes no room on disk.
void write_large(const TempDir& dir, const std::string& name) {
    std::string bytes = many_names(3, 10);
    const uint64_t size = 300 << 20;
    const size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size);
    std::memcpy(bytes.data() + at, &size, sizeof size);
    dir.write(name, bytes);
    std::filesystem::resize_file(dir / name, bytes.size() + size);
}

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
    CHECK(error_of("/dev/null") == "/dev/null is not a file that can be run");
    CHECK(error_of("/etc/passwd").find("is no ELF file") != std::string::npos);
    CHECK(error_of("/proc/version") == "/proc/version is not a file that can be run");
    const auto other = Program::open(self, 0);
    REQUIRE_FALSE(other);
    CHECK(other.error().text == "/proc/self/exe is for another machine than this one");
}

TEST_CASE("programs and libraries are found where they would be run from") {
    const Directory bin("programs_test.bin"), lib("programs_test.lib");
    const std::string elf = "\177ELF";
    bin.add("worker", "");
    std::filesystem::permissions(bin.path / "worker", std::filesystem::perms::owner_all);
    const Directory shadow("programs_test.shadow");
    std::filesystem::create_directory(shadow.path / "worker");
    lib.add("libone.so.6", elf);
    lib.add("libone.so", "INPUT(libone.so.6)");
    lib.add("libtwo.so.1", elf);
    lib.add("libtwo.so.2", elf);
    const ProgramPaths paths{{shadow.path, bin.path}, {lib.path}, 0};
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

TEST_CASE("a file whose symbols all have one long name takes no more memory than the file") {
    TempDir dir;
    dir.write("bomb", many_names(1000, 1 << 20));
    auto program = Program::open(dir / "bomb", EM_X86_64);
    REQUIRE(program);
    auto symbols = (*program)->symbols();
    REQUIRE(symbols);
    CHECK((*symbols)->size() <= 5);
    dir.write("few", many_names(3, 10));
    CHECK((*(*Program::open(dir / "few", EM_X86_64))->symbols())->size() == 3);
}

TEST_CASE("a file of another user's is no larger than it is") {
    if (::geteuid() != 0) return;  // root's alone to give away
    TempDir dir;
    write_large(dir, "bomb");
    dir.write("far", many_names(3, 10));
    for (const char* name : {"bomb", "far"}) REQUIRE(::chown((dir / name).c_str(), 1, 1) == 0);
    CHECK(error_of(dir / "bomb").find("strings that are too large, and is of another user") != std::string::npos);
    const auto far = Program::open(dir / "far", EM_X86_64);
    REQUIRE(far);
    CHECK((*far)->code(4096, size_t{1} << 50).empty());
}

TEST_CASE("nobody's file has a compressed table of strings") {
    TempDir dir;
    dir.write("bomb", many_names(3, 10, SHF_COMPRESSED));
    CHECK(error_of(dir / "bomb").ends_with("/bomb has compressed tables of strings, which no program has"));
}

TEST_CASE("a file that is cut off says so, one without headers of sections is whole") {
    TempDir dir;
    const auto error = [&](const std::string& bytes) {
        dir.write("file", bytes);
        return error_of(dir / "file");
    };
    const auto patched = [](size_t at, auto value) {
        std::string bytes = many_names(3, 10);
        std::memcpy(bytes.data() + at, &value, sizeof value);
        return bytes;
    };
    const std::string whole = many_names(3, 10);
    constexpr size_t headers = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), symbols = headers + sizeof(Elf64_Shdr);
    const std::string damaged = "/file is damaged or cut off: its sections do not lie within it";
    CHECK(error(whole).empty());
    for (const size_t size : {headers, symbols, headers + 3 * sizeof(Elf64_Shdr), whole.size() - 1})
        CHECK(error(whole.substr(0, size)).ends_with(damaged));
    CHECK(error(patched(offsetof(Elf64_Ehdr, e_shoff), uint64_t{1} << 40)).ends_with(damaged));
    CHECK(error(patched(offsetof(Elf64_Ehdr, e_shnum), uint16_t{0})).ends_with(damaged));
    CHECK(error(patched(symbols + offsetof(Elf64_Shdr, sh_size), UINT64_MAX - 64)).ends_with(damaged));
    // As separate debug files have sections of code, and as programs without any.
    std::string nobits = patched(symbols + offsetof(Elf64_Shdr, sh_type), uint32_t{SHT_NOBITS});
    std::memset(nobits.data() + symbols + offsetof(Elf64_Shdr, sh_size), 0x7f, sizeof(uint64_t));
    CHECK(error(nobits).empty());
    CHECK(error(patched(offsetof(Elf64_Ehdr, e_shoff), uint64_t{0})).empty());
}

TEST_CASE("a file that a process led to is somebody else's, whoever owns it") {
    TempDir dir;
    write_large(dir, "bomb");
    dir.write("few", many_names(3, 10));
    CHECK(error_of(dir / "bomb").empty());
    CHECK_FALSE(error_of("/proc/self/root" + (dir / "bomb")).empty());
    CHECK(error_of("/proc/self/root" + (dir / "few")).empty());
    ForeignFiles files;
    const auto led_to = [&](const char* name, bool is_copy) {
        return Program::open(files, {0, open_regular(dir / name), is_copy}, dir / name, "");
    };
    CHECK_FALSE(led_to("bomb", false));
    for (const bool is_copy : {false, true}) {
        const auto few = led_to("few", is_copy);
        REQUIRE(few);
        CHECK((*few)->symbols().value()->size() == 3);
    }
}

TEST_CASE("what a terminal would take for a command is not in a name") {
    TempDir dir;
    dir.write("escapes", many_names(1, 3, 0, '\033'));
    const auto program = Program::open(dir / "escapes", EM_X86_64);
    REQUIRE(program);
    CHECK((*program)->find("???")->size() == 1);
}

TEST_CASE("a file of another user's may be cut while it is read") {
    TempDir dir;
    dir.write("cut", many_names(100, 10));
    if (::geteuid() != 0) return;  // root's alone to give away
    REQUIRE(::chown((dir / "cut").c_str(), 1, 1) == 0);
    auto program = Program::open(dir / "cut", EM_X86_64);
    REQUIRE(program);
    std::filesystem::resize_file(dir / "cut", 0);
    auto symbols = (*program)->symbols();
    CHECK((!symbols || (*symbols)->empty()));
}

TEST_CASE("what is no file is not opened") {
    TempDir dir;
    dir.write("file", "x");
    std::filesystem::create_symlink("/dev/null", dir / "link");
    std::filesystem::create_symlink("file", dir / "to_file");
    REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
    CHECK(open_regular(dir / "file"));
    CHECK(open_regular(dir / "to_file"));
    CHECK_FALSE(open_regular(dir / "to_file", O_NOFOLLOW));
    CHECK_FALSE(open_regular(dir / "link"));
    CHECK_FALSE(open_regular(dir / "fifo"));
    CHECK_FALSE(open_regular("/dev/null"));
    CHECK(errno == EINVAL);
    CHECK_FALSE(open_regular(dir / "none"));
    CHECK(errno == ENOENT);
    std::filesystem::create_symlink("/proc/version", dir / "made_up");
    CHECK_FALSE(open_regular(dir / "made_up"));
    CHECK_FALSE(open_regular("/sys/devices/system/cpu/online"));
    CHECK_FALSE(open_regular(dir / "file", 0, [](const struct stat& file) { return file.st_size != 1; }));
    CHECK(errno == EINVAL);
    CHECK(open_regular(dir / "file", 0, [](const struct stat& file) { return file.st_size == 1; }));
}

TEST_CASE("a debug file that was not looked at is looked for later, and only then") {
    using What = ForeignFiles::What;
    struct Told : ForeignFiles {
        What what;
        int looks = 0;
        explicit Told(What what) : what(what) {}
        Found find(const std::vector<Door>&, Wants) override { return looks++, Found{.what = what}; }
    };
    // A library of this process that has no names but those that it exports, and a build id.
    std::string path;
    for (const CodeMapping& mapping : parse_maps(read_file("/proc/self/maps", 1 << 20)))
        if (mapping.path.find("/libc.so") != std::string::npos) path = mapping.path;
    for (const What what : {What::TooLarge, What::Nothing, What::Silent, What::Unasked}) {
        Told files(what);
        auto opened = Program::open(files, {0, open_regular(path)}, path, "");
        REQUIRE(opened);
        Program& program = **opened;
        const size_t names = program.symbols().value()->size();
        CHECK(names > 1000);
        REQUIRE(program.stripped());
        REQUIRE(files.looks > 0);
        const int first = files.looks;
        CHECK(program.wants_debug_file() == (what == What::Unasked));
        const auto from = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; i++) REQUIRE(program.symbols().value()->size() == names);
        const auto seconds =
            std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - from).count() + 1;
        CHECK(files.looks - first <= (what == What::Unasked ? seconds : 0));
        files.what = What::Nothing;
        for (int tries = 0; tries < 60000 && program.wants_debug_file(); tries++) {
            ::usleep(1000);
            REQUIRE(program.symbols());
        }
        CHECK_FALSE(program.wants_debug_file());
        CHECK(program.symbols().value()->size() == names);
    }
}
