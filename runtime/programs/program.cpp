// SPDX-License-Identifier: MIT
#include "programs/program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "base/printable.hpp"
#include "base/regular_file.hpp"
#include "programs/elf_view.hpp"

namespace kpl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto debug_rest = std::chrono::seconds(1);
constexpr size_t most_uses = 4;  // of a byte of names, on average
constexpr size_t most_symbols = 1 << 21;
constexpr size_t most_foreign_names = 128 << 20;  // bytes, of what a process led to
constexpr size_t most_id = 64;                    // bytes of a build id; linkers make 8 to 32
constexpr size_t most_segments = 1170;            // what the kernel runs has no more: 64 KB of program headers
constexpr size_t most_code = 16 << 20;            // of one function
constexpr const char* debug_files = "/usr/lib/debug/.build-id/";

void read_symbols(const ElfView& view, Elf_Scn* section, const GElf_Shdr& header, size_t most,
                  std::vector<ProgramSymbol>& into) {
    Elf_Data* data = view.data(section);
    if (!data || header.sh_entsize == 0) return;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    // A name may be the end of another one, but not all of them the whole table.
    size_t left = std::min(most, most_uses * view.size_of(header.sh_link));
    for (int i = 0; i < count && into.size() < most_symbols; i++) {
        GElf_Sym symbol;
        if (!view.lib().gelf_getsym(data, i, &symbol)) break;
        const int type = GELF_ST_TYPE(symbol.st_info);
        const bool code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
        if (!code || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_value == 0) continue;
        const char* name = left ? view.text(header.sh_link, symbol.st_name) : nullptr;
        const size_t size = name ? strnlen(name, left) : 0;
        if (!size) continue;
        left -= size;
        into.push_back({printable(std::string(name, size)), symbol.st_value, symbol.st_size, type != STT_NOTYPE,
                        type == STT_GNU_IFUNC});
    }
}

std::string build_id_of(const ElfView& view) {
    std::string text;
    view.each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (header.sh_type != SHT_NOTE || !text.empty()) return;
        Elf_Data* data = view.data(section);
        GElf_Nhdr note;
        size_t name_at, desc_at;
        for (size_t at = 0; data && (at = view.lib().gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0;) {
            const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
            if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(bytes + name_at, "GNU", 4) != 0)
                continue;
            if (note.n_descsz > most_id) continue;
            for (size_t i = 0; i < note.n_descsz; i++) text += fmt::format("{:02x}", bytes[desc_at + i]);
        }
    });
    return text;
}

// The name of the separate debug file; a checksum follows it.
std::string debug_link_of(const ElfView& view) {
    std::string link;
    view.each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (!link.empty() || view.name(header) != ".gnu_debuglink") return;
        const Elf_Data* data = view.data(section);
        if (data && data->d_buf)
            link.assign(static_cast<const char*>(data->d_buf),
                        strnlen(static_cast<const char*>(data->d_buf), data->d_size));
    });
    return link;
}

// What libdw would read of unwind information: as much as may be read.
bool frames_fit(const ElfView& view) {
    bool fit = false;
    view.each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (view.name(header) == ".eh_frame") fit = view.data(section) != nullptr;
    });
    return fit;
}

}  // namespace

Result<std::shared_ptr<Program>> Program::open(const std::string& path, uint16_t machine) {
    std::shared_ptr<Program> program(new Program);
    program->path_ = path;
    program->fd_ = open_regular(path);
    if (!program->fd_ && errno != EINVAL) return Error{Errc::script, fmt::format("{}: {}", path, std::strerror(errno))};
    TRY(program->read_file(machine));
    return program;
}

Result<std::shared_ptr<Program>> Program::open(ForeignFiles& files, ForeignFiles::Found found, const std::string& path,
                                               const std::string& root) {
    std::shared_ptr<Program> program(new Program);
    program->path_ = path, program->root_ = root;
    program->fd_ = std::move(found.file);
    program->files_ = &files;
    TRY(program->read_file(std::nullopt));
    if (struct stat copy{}; found.is_copy && ::fstat(program->fd_.get(), &copy) == 0)
        program->copy_bytes_ = static_cast<size_t>(copy.st_blocks) * 512;
    return program;
}

Result<void> Program::read_file(std::optional<uint16_t> machine) {
    struct stat file {};
    if (::fstat(fd_.get(), &file) != 0 || !S_ISREG(file.st_mode))
        return Error{Errc::script, fmt::format("{} is not a file that can be run", path_)};
    device_ = file.st_dev;
    inode_ = file.st_ino;
    return read_head(machine);
}

bool Program::is_replaced() const {
    struct stat file {};
    return ::stat(path_.c_str(), &file) != 0 || file.st_ino != inode_ || file.st_dev != device_;
}

Result<void> Program::read_head(std::optional<uint16_t> machine) {
    const ElfView view = TRY(ElfView::open(fd_.get(), path_, files_ != nullptr));
    GElf_Ehdr head;
    if (!view.lib().gelf_getehdr(view.get(), &head))
        return Error{Errc::script, fmt::format("{}: {}", path_, view.lib().elf_errmsg(view.lib().elf_errno()))};
    if (machine && head.e_machine != *machine)
        return Error{Errc::script,
                     head.e_machine == EM_386 || head.e_machine == EM_ARM
                         ? fmt::format("{} is a program of 32 bits: only those of 64 bits can be probed", path_)
                         : fmt::format("{} is for another machine than this one", path_)};
    if (head.e_type != ET_EXEC && head.e_type != ET_DYN)
        return Error{Errc::script, fmt::format("{} is neither a program nor a shared library", path_)};
    size_t count = 0;
    view.lib().elf_getphdrnum(view.get(), &count);
    for (size_t i = 0; i < std::min(count, most_segments); i++) {
        GElf_Phdr segment;
        if (view.lib().gelf_getphdr(view.get(), static_cast<int>(i), &segment) && segment.p_type == PT_LOAD)
            segments_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz, (segment.p_flags & PF_X) != 0,
                                 (segment.p_flags & PF_W) != 0});
    }
    return {};
}

Result<void> Program::add_symbols(int fd, bool only_full) {
    const ElfView view = TRY(ElfView::open(fd, path_, files_ != nullptr));
    std::set<GElf_Word> seen;
    view.each_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        const bool full = header.sh_type == SHT_SYMTAB;
        if (!full && (only_full || header.sh_type != SHT_DYNSYM)) return;
        if (!seen.insert(header.sh_type).second) return;  // there is one of a kind (gABI)
        if (full) stripped_ = false;
        read_symbols(view, section, header, files_ ? most_foreign_names : SIZE_MAX, *symbols_);
    });
    return {};
}

Result<const std::vector<ProgramSymbol>*> Program::symbols() {
    if (symbols_ && wants_debug_file() && Clock::now() >= next_debug_look_) {
        add_debug_file();
        tidy();
    }
    if (symbols_) return &*symbols_;
    symbols_.emplace();
    TRY(add_symbols(fd_.get(), false));
    if (stripped_) {
        debug_id_ = build_id();
        for (std::string& name : debug_file_names(debug_id_)) debug_doors_.push_back({std::move(name)});
        add_debug_file();
    }
    tidy();
    if (std::exchange(copy_bytes_, 0)) fd_.reset();  // nothing else is read of a copy
    return &*symbols_;
}

// What begins in the same place is one function: its first name, of a function rather than of a label, counts.
void Program::tidy() {
    std::vector<ProgramSymbol>& all = *symbols_;
    std::erase_if(all, [this](const ProgramSymbol& symbol) { return !file_offset(symbol.address); });
    std::stable_sort(all.begin(), all.end(), [](const ProgramSymbol& a, const ProgramSymbol& b) {
        if (a.address != b.address) return a.address < b.address;
        if (a.is_function != b.is_function) return a.is_function;
        return a.name < b.name;
    });
    const auto same = [](const ProgramSymbol& a, const ProgramSymbol& b) {
        return a.address == b.address && a.name == b.name;
    };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    bytes_ = 0;
    for (const ProgramSymbol& symbol : all) bytes_ += sizeof symbol + symbol.name.size();
}

// Where a separate debug file is looked for: by the build id, and by the name that the file has for it.
std::vector<std::string> Program::debug_file_names(const std::string& id) const {
    std::vector<std::string> names;
    if (id.size() > 2)
        for (const std::string& root : {root_, std::string()})
            names.push_back(root + debug_files + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
    const auto view = ElfView::open(fd_.get(), path_, files_ != nullptr);
    const std::string link = view ? debug_link_of(*view) : "";
    if (link.empty() || link.find('/') != link.npos) return names;
    const std::string folder = path_.substr(0, path_.rfind('/') + 1);
    for (const char* place : {"", ".debug/"}) names.push_back(root_ + folder + place + link);
    names.push_back(root_ + "/usr/lib/debug" + folder + link);
    return names;
}

// That of another build has other addresses: without an id on both sides, nothing tells.
bool Program::belongs(int debug_fd) const {
    const auto view = ElfView::open(debug_fd, path_, files_ != nullptr);
    return view && !debug_id_.empty() && build_id_of(*view) == debug_id_;
}

// What is too large, or silent, is none.
UniqueFd Program::debug_file() {
    using What = ForeignFiles::What;
    std::vector<ForeignFiles::Door>& doors = debug_doors_;
    while (!doors.empty()) {
        auto found = files_ ? files_->find(doors, ForeignFiles::Wants::Elf)
                            : ForeignFiles::Found{0, open_regular(doors[0].path)};
        if (found.what == What::Unasked) {
            next_debug_look_ = Clock::now() + debug_rest;
            return {};
        }
        if (found.what == What::Nothing || found.what == What::Silent) break;
        if (found.file && belongs(found.file.get())) {
            doors.clear();
            return std::move(found.file);
        }
        doors.erase(doors.begin(), doors.begin() + static_cast<std::ptrdiff_t>(found.door) + 1);
    }
    doors.clear();
    return {};
}

void Program::add_debug_file() {
    const UniqueFd fd = debug_file();
    if (fd) (void)add_symbols(fd.get(), true);
}

Result<std::vector<ProgramSymbol>> Program::find(std::string_view name) {
    std::vector<ProgramSymbol> found;
    for (const ProgramSymbol& symbol : *TRY(symbols()))
        if (symbol.name == name) found.push_back(symbol);
    return found;
}

Result<std::optional<ProgramSymbol>> Program::covering(uint64_t address) {
    const std::vector<ProgramSymbol>& all = *TRY(symbols());
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](uint64_t value, const ProgramSymbol& symbol) { return value < symbol.address; });
    for (int looks = 0; after != all.begin() && looks < 16; looks++) {
        --after;
        if (address == after->address || address - after->address < after->size) {
            while (after != all.begin() && std::prev(after)->address == after->address) --after;
            return std::optional(*after);
        }
    }
    return std::optional<ProgramSymbol>();
}

Result<std::optional<ProgramSymbol>> Program::at(uint64_t address) {
    if (auto symbol = TRY(covering(address))) return symbol;
    const LibDw* lib = TRY(LibDw::load());
    const ElfView view = TRY(ElfView::open(fd_.get(), path_, files_ != nullptr));
    Dwarf_CFI* const frames = frames_fit(view) ? lib->dwarf_getcfi_elf(view.get()) : nullptr;
    Dwarf_Frame* frame = nullptr;
    std::optional<ProgramSymbol> found;
    if (frames && lib->dwarf_cfi_addrframe(frames, address, &frame) == 0) {
        Dwarf_Addr start = 0, end = 0;
        lib->dwarf_frame_info(frame, &start, &end, nullptr);
        found = ProgramSymbol{"", start, end - start};
        std::free(frame);
    }
    if (frames) lib->dwarf_cfi_end(frames);
    return found;
}

std::optional<uint64_t> Program::offset_in(bool Segment::*kind, uint64_t address) const {
    for (const Segment& segment : segments_)
        if (segment.*kind && address - segment.address < segment.size)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

std::optional<uint64_t> Program::file_offset(uint64_t address) const { return offset_in(&Segment::code, address); }

Result<const std::vector<ProgramMark>*> Program::marks() {
    if (marks_) return &*marks_;
    marks_ = TRY(read_marks(fd_.get(), path_, files_ != nullptr));
    std::erase_if(*marks_, [this](ProgramMark& mark) {
        const auto at = file_offset(mark.address);
        const auto semaphore = mark.semaphore ? offset_in(&Segment::data, mark.semaphore) : 0;
        mark.file_offset = at.value_or(0);
        mark.semaphore = semaphore.value_or(0);
        return !at || !semaphore;
    });
    return &*marks_;
}

std::optional<uint64_t> Program::address_of(uint64_t file_offset) const {
    for (const Segment& segment : segments_)
        if (file_offset - segment.offset < segment.size) return file_offset - segment.offset + segment.address;
    return std::nullopt;
}

std::vector<uint8_t> Program::code(uint64_t address, size_t size) const {
    if (size > most_code) return {};
    std::vector<uint8_t> bytes(size);
    const auto offset = file_offset(address);
    const ssize_t n = offset ? ::pread(fd_.get(), bytes.data(), size, static_cast<off_t>(*offset)) : 0;
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return bytes;
}

std::string Program::build_id() const {
    const auto view = ElfView::open(fd_.get(), path_, files_ != nullptr);
    return view ? build_id_of(*view) : "";
}

}  // namespace kpl
