// SPDX-License-Identifier: MIT
// docs/language.md does what it says, on the types of each installed kernel; docs/errors.md has every
// message.
//
// A block ```lua is a script, or, without a probe of its own, the body of a handler of vfs_read. In a block
// ```lua refused each line is such a body, and what follows --> is the message.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "ir/build/diagnostics.hpp"
#include "lab.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

struct Block {
    int line = 0;
    bool refused = false;
    std::string text;
};

std::vector<Block> blocks_of(const std::string& file) {
    std::vector<Block> blocks;
    std::ifstream in(file);
    bool inside = false;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        number++;
        if (inside && line == "```")
            inside = false;
        else if (inside)
            blocks.back().text += line + "\n";
        else if (line == "```lua" || line == "```lua refused") {
            inside = true;
            blocks.push_back({number, line.ends_with("refused"), {}});
        }
    }
    REQUIRE(blocks.size() > 10);
    return blocks;
}

std::string script_of(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        for (const char* probe : {"kprobe", "kretprobe", "jprobe", "batch"})
            if (line.starts_with(probe)) return text;
    return "kprobe('vfs_read', function(p, file, buf, count, pos) " + text + "\nend)";
}

std::vector<std::string> kernels() {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(KPL_KERNEL_BTF, none))
        if (std::filesystem::exists(entry.path() / "vmlinux")) found.push_back(entry.path().string());
    if (found.empty()) std::cout << "skipped: no kernel's BTF in " KPL_KERNEL_BTF "\n";  // CTest looks for this
    return found;
}

void check_refused(const std::string& kernel, const Block& block) {
    std::istringstream in(block.text);
    for (std::string line; std::getline(in, line);) {
        const size_t arrow = line.find(" --> ");
        REQUIRE(arrow != std::string::npos);
        Lab lab(kernel);
        CHECK(lab.compile(script_of(line.substr(0, arrow))) == "t.lua:1: " + line.substr(arrow + 5));
    }
}

std::string list_of_messages() {
    std::string text =
        "# What the compiler says\n\n"
        "<!-- Generated from runtime/ir/build/errors.def: KPL_UPDATE_DOCS=1 language_test -->\n\n"
        "Each message begins with `file:line:`. `…` stands for a part of the script.\n\n"
        "| what is wrong | what to do |\n|---|---|\n";
    auto plain = [](std::string_view s) {
        std::string out;
        for (size_t i = 0; i < s.size(); i++) {
            if (s[i] == '{' && s[i + 1] != '{')
                out += "…", i += 2;
            else if (s[i] == '{' || s[i] == '}')
                out += s[i++];
            else if (s[i] == '|')
                out += "\\|";
            else
                out += s[i];
        }
        return out;
    };
    auto add = [&](const builder::MessageRow& row) {
        text += "| " + plain(row.text) + " | " + plain(row.advice) + " |\n";
    };
    for (size_t i = 0; i < static_cast<size_t>(builder::Err::count_); i++)
        add(builder::row(static_cast<builder::Err>(i)));
    text += "\nWarnings, which refuse nothing:\n\n| what | what to do |\n|---|---|\n";
    for (size_t i = 0; i < static_cast<size_t>(builder::Warn::count_); i++)
        add(builder::row(static_cast<builder::Warn>(i)));
    return text;
}

}  // namespace

TEST_CASE("examples of the language's reference") {
    for (const std::string& kernel : kernels())
        for (const Block& block : blocks_of(KPL_DOCS "/language.md")) {
            DYNAMIC_SECTION(std::filesystem::path(kernel).filename().string() << " line " << block.line) {
                if (block.refused) {
                    check_refused(kernel, block);
                    continue;
                }
                Lab lab(kernel);
                CHECK(lab.compile(script_of(block.text)) == "");
                CHECK(!lab.programs.empty());
                CHECK(lab.warnings == "");
            }
        }
}

// What a start costs beside the types: the second time they are known.
TEST_CASE("a handler of fifty lines is compiled again and again") {
    std::string script =
        "local sizes, reads, last = hist(), count(), map()\nlocal limit = { low = 16, high = 4096 }\n"
        "local function kind(n) if n < limit.low then return 'small' end return n < limit.high and 'mid' or 'large' end\n"
        "kprobe('vfs_read', function(p, file, buf, count, pos)\n";
    for (int i = 0; i < 8; i++)
        script += fmt::format(
            "  local name{0} = str(file.f_path.dentry.d_name.name, {1})\n  local parent{0} = file.f_path.dentry.d_parent\n"
            "  if starts(name{0}, 'x{0}') and #name{0} > {0} then\n    reads[{{ kind(count), name{0} }}]:add()\n"
            "  elseif parent{0} ~= nil and file.f_inode.i_size > {1} then\n    sizes:add(count / {1})\n  end\n",
            i, i + 32);
    script += "  last[pid()] = { at = now(), name = comm(), n = count }\nend)\n";
    for (const std::string& kernel : kernels()) {
        Lab lab(kernel);
        REQUIRE(lab.compile(script) == "");
        double best = 1e9;
        for (int run = 0; run < 10; run++) best = std::min(best, lab.compile_time(script));
        std::cout << fmt::format("{}: {} lines compiled and verified in {:.2f} ms\n",
                                 std::filesystem::path(kernel).filename().string(),
                                 std::count(script.begin(), script.end(), '\n'), best);
    }
}

// Milliseconds by the number of statements, for `make bench`: what grows faster than the script is seen here.
TEST_CASE("how long many statements take", "[.]") {
    const std::pair<const char*, const char*> shapes[] = {
        {"pointers followed", "s = s + file.f_inode.i_ino\n"},
        {"counts", "n:add()\n"},
        {"counts by key", "m[{{ pid(), {0} }}]:add(count)\n"},
        {"conditions", "if count > {0} then s = s + {0} end\n"},
        {"strings compared", "if comm() == 'x{0}' then s = s + 1 end\n"},
        {"early returns", "e {{ n = {0} }} if count == {0} then return end\n"},
        {"quotients of reads", "s = s + ffi.cast('struct inode *', b + {0}).i_ino / (count + {0})\n"},
        {"values of keys", "k[{0}] = (k[{0}] or 0) + 1\n"},
        {"arithmetic", "a, b, c, d = b + {0}, c * 3, bit.bxor(d, a), a - count\n"},
    };
    const std::string kernel = kernels().front();
    std::cout << fmt::format("{:<18}{:>8}{:>8}{:>8}{:>8} statements, ms\n", "", 100, 200, 400, 800);
    for (const auto& [name, statement] : shapes) {
        std::cout << fmt::format("{:<18}", name);
        for (const int many : {100, 200, 400, 800}) {
            Lab lab(kernel);
            std::string script =
                "local n, m, last, e, k = count(), sum(), sum(), event(), map()\nkprobe { 'vfs_read', budget = 1000000, pre = function(p, file, buf, count, pos)\n"
                "local s, a, b, c, d = 0, 1, count, 3, pid()\n";
            for (int i = 0; i < many; i++) script += fmt::format(fmt::runtime(statement), i);
            script += "last:add(s + a + b + c + d)\nend }\n";
            bool whole = true;
            const double took = lab.compile_time(script, &whole);
            std::cout << fmt::format("{:>7.1f}{}", took, whole ? ' ' : '*');
        }
        std::cout << "\n";
    }
    std::cout << "* refused: too large\n";
}

TEST_CASE("the list of messages is that of the table") {
    const std::string file = KPL_DOCS "/errors.md";
    if (std::getenv("KPL_UPDATE_DOCS")) std::ofstream(file) << list_of_messages();
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    CHECK(text.str() == list_of_messages());
}
