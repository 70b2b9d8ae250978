// SPDX-License-Identifier: MIT
#include "session/listing.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "arch/arch.hpp"
#include "arch/disasm.hpp"

namespace kpl {
namespace {

// Lines of the script's files; a file that is gone, or was no file, has none.
class Sources {
  public:
    std::string line(const std::string& file, int number) {
        const auto [at, fresh] = files_.try_emplace(file);
        if (fresh) {
            std::ifstream in(file);
            for (std::string text; std::getline(in, text);) at->second.push_back(std::move(text));
        }
        if (number < 1 || static_cast<size_t>(number) > at->second.size()) return {};
        const std::string& text = at->second[static_cast<size_t>(number) - 1];
        const auto first = text.find_first_not_of(" \t");
        return first == std::string::npos ? std::string() : text.substr(first);
    }

  private:
    std::map<std::string, std::vector<std::string>> files_;
};

std::optional<int> number_at(std::string_view text, size_t at) {
    int n = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), n);
    if (error != std::errc{} || end == text.data() + at) return std::nullopt;
    return n;
}

// "…  ; file:line…" names a line of a script; "0001     [6]  …" a line of `file`.
std::optional<SourceLoc> line_of(std::string_view line, const std::string& file) {
    if (const auto bracket = line.find('[');
        bracket != std::string_view::npos && bracket < 12 && line[0] >= '0' && line[0] <= '9') {
        const auto n = number_at(line, bracket + 1);
        if (n) return SourceLoc{file, *n};
    }
    const auto comment = line.rfind("; ");
    if (comment == std::string_view::npos) return std::nullopt;
    const std::string_view named = line.substr(comment + 2);
    for (auto colon = named.find(':'); colon != std::string_view::npos; colon = named.find(':', colon + 1)) {
        const auto n = number_at(named, colon + 1);
        if (n) return SourceLoc{std::string(named.substr(0, colon)), *n};
    }
    return std::nullopt;
}

std::string script_line(Sources& sources, const SourceLoc& at) {
    const std::string text = sources.line(at.file, at.line);
    return text.empty() ? std::string() : fmt::format(";{:5}| {}\n", at.line, text);
}

}  // namespace

std::string with_script_lines(std::string_view listing) {
    constexpr std::string_view bytecode = "-- BYTECODE -- ";
    Sources sources;
    SourceLoc shown;
    std::string out, file;
    while (!listing.empty()) {
        const auto end = listing.find('\n');
        const std::string_view line = listing.substr(0, end);
        listing.remove_prefix(end == std::string_view::npos ? listing.size() : end + 1);
        if (line.starts_with(bytecode)) file = line.substr(bytecode.size(), line.rfind(':') - bytecode.size());
        const bool header = line.starts_with(';') || line.starts_with("--");
        if (const auto at = header ? std::nullopt : line_of(line, file);
            at && (at->file != shown.file || at->line != shown.line)) {
            out += script_line(sources, *at);
            shown = *at;
        }
        out.append(line).append("\n");
    }
    return out;
}

Result<std::string> print(const HandlerProgram& program, const NativeCode& code,
                          const std::function<std::string(uint64_t)>& name_of) {
    if (code.bytes.empty()) return fmt::format("; {}: interpreted, there is no native code\n", program.name);
    std::string out =
        fmt::format("; {}: {} bytes of native code at {:#x}\n", program.name, code.bytes.size(), code.address);
    const std::vector<NativeInsn> insns = TRY(disassemble(host_arch(), code.bytes, code.address));
    const auto outside = [&](uint64_t address) {
        return address - code.address < code.bytes.size() ? std::string() : name_of(address);
    };
    Sources sources;
    SourceLoc shown;
    size_t note = 0;
    for (size_t from = 0, to = 0; from < insns.size(); from = to) {
        const uint64_t at = insns[from].addr - code.address;
        // Lines whose code the JIT left out begin where the next one does.
        for (; note < program.notes.size() && code.starts[program.notes[note].pc] <= at; note++) {
            const bool last = note + 1 == program.notes.size() || code.starts[program.notes[note + 1].pc] > at;
            const SourceLoc& named = program.notes[note].at;
            if (!last || (named.file == shown.file && named.line == shown.line)) continue;
            out += script_line(sources, named);
            shown = named;
        }
        const uint64_t next = note < program.notes.size() ? code.starts[program.notes[note].pc] : code.bytes.size();
        while (to < insns.size() && (to == from || insns[to].addr - code.address < next)) to++;
        out += print_native(std::span(insns).subspan(from, to - from), outside);
    }
    return out;
}

}  // namespace kpl
