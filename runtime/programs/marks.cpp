// SPDX-License-Identifier: MIT
#include "programs/marks.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "arch/arch.hpp"
#include "base/printable.hpp"
#include "programs/elf_view.hpp"

namespace kpl {
namespace {

constexpr std::string_view owner("stapsdt\0", 8);
constexpr GElf_Word type_of_marks = 3;  // NT_STAPSDT
constexpr size_t words = 3;             // of 64 bits, before the texts

// The next text of a note; nothing: it does not end.
std::optional<std::string> take_text(std::string_view& bytes) {
    const size_t end = bytes.find('\0');
    if (end == bytes.npos) return std::nullopt;
    std::string text(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
    return text;
}

// Addresses move when a file is prelinked, and notes don't: the base, which is in both, says how far.
uint64_t moved(uint64_t address, uint64_t base, uint64_t base_now) {
    return address && base && base_now ? address + base_now - base : address;
}

// Nothing: the note is not as it should be.
std::optional<ProgramMark> parse_note(std::string_view bytes, uint64_t base_now) {
    uint64_t word[words];
    if (bytes.size() < sizeof word) return std::nullopt;
    std::memcpy(word, bytes.data(), sizeof word);
    bytes.remove_prefix(sizeof word);
    const auto provider = take_text(bytes), name = take_text(bytes), args = take_text(bytes);
    if (!provider || !name || !args || provider->empty() || name->empty()) return std::nullopt;
    ProgramMark mark{printable(*provider), printable(*name)};
    mark.args = parse_mark_args(host_arch(), printable(*args));
    mark.address = moved(word[0], word[1], base_now);
    mark.semaphore = moved(word[2], word[1], base_now);
    return mark;
}

void read_notes(const ElfView& view, Elf_Scn* section, uint64_t base_now, std::vector<ProgramMark>& marks) {
    Elf_Data* data = view.data(section);
    GElf_Nhdr note;
    size_t name_at, desc_at;
    for (size_t at = 0; data && (at = view.lib().gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0;) {
        const std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
        if (note.n_type != type_of_marks || bytes.substr(name_at, note.n_namesz) != owner) continue;
        if (auto mark = parse_note(bytes.substr(desc_at, note.n_descsz), base_now)) marks.push_back(std::move(*mark));
    }
}

// Where what arguments name lies; 0: in several places.
using Named = std::map<std::string, uint64_t, std::less<>>;

void find_symbols(const ElfView& view, Elf_Scn* section, const GElf_Shdr& header, Named& wanted) {
    Elf_Data* data = view.data(section);
    if (!data || header.sh_entsize == 0) return;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    GElf_Sym symbol;
    for (int i = 0; i < count && view.lib().gelf_getsym(data, i, &symbol); i++) {
        const char* name = view.text(header.sh_link, symbol.st_name);
        const bool placed = symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) != STT_TLS;
        const auto found = name && placed ? wanted.find(std::string_view(name)) : wanted.end();
        if (found == wanted.end()) continue;
        if (found->second == UINT64_MAX)
            found->second = symbol.st_value;
        else if (found->second != symbol.st_value)
            found->second = 0;
    }
}

// Symbols become distances from their marks. What has none, or is not there once, can't be read.
void place_symbols(const ElfView& view, std::vector<ProgramMark>& marks) {
    Named wanted;
    for (const ProgramMark& mark : marks)
        for (const MarkArg& arg : mark.args)
            if (!arg.symbol.empty()) wanted.emplace(arg.symbol, UINT64_MAX);
    if (wanted.empty()) return;
    std::set<GElf_Word> seen;
    view.each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) return;
        if (seen.insert(header.sh_type).second) find_symbols(view, section, header, wanted);  // one of a kind (gABI)
    });
    for (ProgramMark& mark : marks)
        for (MarkArg& arg : mark.args) {
            if (arg.symbol.empty()) continue;
            const uint64_t address = wanted.find(arg.symbol)->second;
            if (address == 0 || address == UINT64_MAX) arg.in = MarkArg::In::Nowhere;
            arg.number = static_cast<int64_t>(static_cast<uint64_t>(arg.number) + address - mark.address);
        }
}

}  // namespace

Result<std::vector<ProgramMark>> read_marks(int fd, const std::string& path, bool foreign) {
    const ElfView view = TRY(ElfView::open(fd, path, foreign));
    uint64_t base_now = 0;
    view.each_section([&](Elf_Scn*, const GElf_Shdr& header) {
        if (view.name(header) == ".stapsdt.base") base_now = header.sh_addr;
    });
    std::vector<ProgramMark> marks;
    view.each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (header.sh_type == SHT_NOTE && view.name(header) == ".note.stapsdt")
            read_notes(view, section, base_now, marks);
    });
    place_symbols(view, marks);
    const auto order = [](const ProgramMark& mark) { return std::tie(mark.provider, mark.name, mark.address); };
    std::sort(marks.begin(), marks.end(),
              [&](const ProgramMark& a, const ProgramMark& b) { return order(a) < order(b); });
    return marks;
}

}  // namespace kpl
