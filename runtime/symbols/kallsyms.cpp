// SPDX-License-Identifier: MIT
// The table is read once, as text, and stays text: a line is "ffffffff81000000 T name" with "\t[module]"
// behind. What needs more than one pass over it builds an index, and only then.
//
// Reading the text makes the kernel print every symbol, 160 ms (6.1) to 310 ms (6.12) under emulation. Three shortcuts
// save that. For scripts that name a few functions of vmlinux: names that this boot has been asked for before
// (boot_cache), and a search in the kernel's own table in its memory (kernel_names); both give up for modules, a name
// that they do not know, and from the searches_before_index-th name on. And the text can be made here, of that table
// and those of the modules (module_names). It lacks what the kernel generates, programs and trampolines: for addresses
// behind vmlinux, the kernel's text is read all the same.
#include "symbols/kallsyms.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "base/unique_fd.hpp"
#include "symbols/blacklist.hpp"
#include "symbols/boot_cache.hpp"
#include "symbols/btf_file.hpp"
#include "symbols/glob.hpp"
#include "symbols/kernel_memory.hpp"
#include "symbols/kernel_names.hpp"
#include "symbols/module_names.hpp"
#include "symbols/name_index.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

constexpr size_t addr_digits = 16;                    // 64-bit kernels
constexpr uint64_t first_number = uint64_t{1} << 62;  // where neither programs nor the kernel have addresses
constexpr size_t name_column = addr_digits + 3;

// Eight hexadecimal digits at once: every line's address is wanted when one is to be named.
uint32_t eight_digits(const char* digits) {
    uint64_t v;
    memcpy(&v, digits, 8);
    v = (v & 0x0f0f0f0f0f0f0f0f) + 9 * ((v >> 6) & 0x0101010101010101);  // 'a' is 0x61, '0' is 0x30
    v = (v << 4 | v >> 8) & 0x00ff00ff00ff00ff;                          // the first digit lies lowest
    v = (v << 8 | v >> 16) & 0x0000ffff0000ffff;
    return static_cast<uint32_t>(v << 16 | v >> 32);
}
static_assert(std::endian::native == std::endian::little);

bool is_text(char kind) { return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W'; }

// Programs and trampolines that the kernel lists as if they were of a module: no probe can be put there.
bool is_generated(std::string_view module) { return module == "bpf" || module.starts_with("__builtin__"); }

struct Line {
    const char* digits;  // of the address: most lines are passed over without need of it
    char kind;
    std::string_view name, module;

    uint64_t addr() const { return static_cast<uint64_t>(eight_digits(digits)) << 32 | eight_digits(digits + 8); }
    bool is_text() const { return kpl::is_text(kind); }
    bool is_function() const { return is_text() && !is_generated(module); }
    bool is_in(std::string_view wanted) const {
        return wanted.empty() || module == (wanted == "vmlinux" ? "" : wanted);
    }
};

Symbol symbol_of(const Line& line) {
    return {std::string(line.name), std::string(line.module), line.addr(), line.kind};
}

// Name and address of each, and what tells one from another build of it that has come to the same place: use counts
// change all the time.
std::string loaded_modules() {
    std::ifstream file("/proc/modules");
    std::string all;
    for (std::string line; std::getline(file, line);) {
        const size_t address = line.find(" 0x");
        const std::string name = line.substr(0, line.find(' '));
        struct stat folder {};
        all += name;
        if (address != std::string::npos) all += line.substr(address, line.find(' ', address + 1) - address);
        if (::stat(("/sys/module/" + name).c_str(), &folder) == 0) all += ' ' + std::to_string(folder.st_ino);
        all += '\n';
    }
    return all;
}

// The module's line in what loaded_modules() gave; empty: it is not loaded.
std::string_view line_of(std::string_view modules, std::string_view name) {
    for (size_t at = 0, end = 0; at < modules.size(); at = end + 1) {
        end = modules.find('\n', at);
        const std::string_view line = modules.substr(at, end - at);
        if (line.substr(0, line.find(' ')) == name) return line;
    }
    return {};
}

// More searches by name than this are worth an index: memmem is so much faster than looking at each line.
constexpr int searches_before_index = 16;

constexpr const char* kernel_table = "/proc/kallsyms";
constexpr const char* cache_name = "symbols";
constexpr size_t most_kept = 64 << 10;

// No function reaches further behind its symbol: what is beyond lies between modules.
constexpr uint64_t max_cover = 1 << 20;

constexpr std::chrono::milliseconds time_between_looks{200};

// Nothing tells when generated code comes or goes: its names are read anew when they are older.
constexpr std::chrono::seconds generated_age{10};
constexpr uint64_t longest_function = 64 << 10;

}  // namespace

struct Kallsyms::Impl {
    explicit Impl(std::string p) : path(std::move(p)) {}

    std::string path;
    std::unique_ptr<char[]> data;
    size_t size = 0, capacity = 0;
    bool loaded = false;
    bool hidden = false;
    uint64_t made_to = 0;  // the text was made here, and is whole for addresses up to this one; 0: it is the kernel's
    // Ascending by address once they are asked for, each once: thousands take little room so.
    std::vector<std::pair<uint64_t, std::string>> preferred;
    bool preferred_sorted = true;
    const std::string* preferred_name(uint64_t addr);
    std::map<std::string, uint64_t, std::less<>> numbers;
    std::string modules;  // loaded ones and their addresses, when the table was read
    using Clock = std::chrono::steady_clock;
    Clock::time_point read_at;
    Clock::time_point looked;  // whether others have been loaded, for the sake of an address
    bool may_look_at_modules();
    Result<Symbol> covering(uint64_t addr);
    std::vector<Symbol> gone;  // functions of modules as the table before had them, by address: stacks still show them
    std::string modules_before;
    Symbol gone_at(uint64_t addr, const Symbol& now) const;
    std::vector<Symbol> functions_of_modules() const;

    std::shared_ptr<const KernelMemory> memory;
    std::optional<KernelNames> names;
    bool names_tried = false;
    std::map<std::string, std::vector<KernelNames::Found>, std::less<>> known;  // what they have said in this boot
    bool known_read = false, known_more = false;
    std::vector<std::string> soon;  // the next search is for these, too

    // All functions of some names.
    struct Expected {
        struct Found {
            uint64_t addr;
            uint32_t name;  // these two: their numbers
            uint16_t module;
            char kind;
        };
        std::vector<std::string> names, modules;
        NameIndex by_name;
        std::vector<Found> found;  // ascending by name
    };
    std::vector<Expected> expected;
    std::optional<std::vector<Symbol>> find_expected(std::string_view name, std::string_view module);

    int searches = 0;
    std::vector<uint32_t> functions;  // where the lines of functions begin; the index is over these
    NameIndex by_name;

    struct Start {
        uint64_t addr;
        uint32_t line;
    };
    std::vector<Start> by_addr;  // kernel addresses, ascending

    const KernelNames* kernel_names();
    void read_known();
    const std::vector<KernelNames::Found>* quick_find(std::string_view name);
    Result<std::vector<Symbol>> find_in_text(std::string_view name, std::string_view module);
    Result<void> load();
    Result<void> load_addresses();  // an Error if they are hidden
    Result<void> load_text();       // the kernel's
    Result<void> read_all();
    bool make_all();
    bool each_in_memory(char begin, const std::function<void(const ModuleSymbol&)>& visit);
    void reserve(size_t wanted);
    void add_line(uint64_t addr, char kind, std::string_view name, std::string_view module);
    Line line_at(size_t begin, size_t end) const;
    Line line_at(size_t begin) const { return line_at(begin, end_of_line(begin)); }
    size_t end_of_line(size_t begin) const {
        const void* end = memchr(data.get() + begin, '\n', size - begin);
        return end ? static_cast<size_t>(static_cast<const char*>(end) - data.get()) : size;
    }
    template <class Visit>
    void each_line(Visit visit) const {  // visit(line, where it begins); false ends
        for (size_t begin = 0; begin < size;) {
            const size_t end = end_of_line(begin);
            if (end - begin > name_column && !visit(line_at(begin, end), static_cast<uint32_t>(begin))) return;
            begin = end + 1;
        }
    }
    template <class Visit>
    void search(std::string_view name, Visit visit) const;
    void build_by_name();
    void build_by_addr();
};

Kallsyms::Kallsyms(std::string path) : impl_(std::make_unique<Impl>(std::move(path))) {}
Kallsyms::~Kallsyms() = default;
Kallsyms::Kallsyms(Kallsyms&&) noexcept = default;
Kallsyms& Kallsyms::operator=(Kallsyms&&) noexcept = default;

// ---- reading

void Kallsyms::Impl::reserve(size_t wanted) {
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (size) memcpy(larger.get(), data.get(), size);
    data = std::move(larger);
    capacity = wanted;
}

Result<void> Kallsyms::Impl::read_all() {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return Error{Errc::system, fmt::format("{}: {}", path, strerror(errno))};
    size = 0;
    for (;;) {
        if (capacity - size < 65536) reserve(std::max<size_t>(capacity * 2, 4 << 20));
        const ssize_t n = ::read(fd.get(), data.get() + size, capacity - size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return Error{Errc::system, fmt::format("{}: {}", path, strerror(errno))};
        if (n == 0) return {};
        size += static_cast<size_t>(n);
        if (size > UINT32_MAX) return Error{Errc::system, fmt::format("{}: too large", path)};
    }
}

void Kallsyms::Impl::add_line(uint64_t addr, char kind, std::string_view name, std::string_view module) {
    const size_t most = name_column + name.size() + module.size() + 4;
    if (capacity - size < most) reserve(std::max<size_t>(2 * capacity, 8 << 20) + most);
    char* at = data.get() + size;
    for (size_t i = 0; i < addr_digits; i++) at[i] = "0123456789abcdef"[addr >> (60 - 4 * i) & 15];
    at += addr_digits;
    *at++ = ' ';
    *at++ = kind;
    *at++ = ' ';
    at = std::copy(name.begin(), name.end(), at);
    if (!module.empty()) {
        *at++ = '\t';
        *at++ = '[';
        at = std::copy(module.begin(), module.end(), at);
        *at++ = ']';
    }
    *at++ = '\n';
    size = static_cast<size_t>(at - data.get());
}

// All symbols of vmlinux that begin so (0: all), then those of modules, however they begin. False: the text has to be
// read, whatever has been visited.
bool Kallsyms::Impl::each_in_memory(char begin, const std::function<void(const ModuleSymbol&)>& visit) {
    const KernelNames* table = kernel_names();
    if (!table) return false;
    const std::string before = loaded_modules();
    const auto head = before.empty() ? std::vector<KernelNames::Found>() : table->find("modules");
    auto layout = ModuleLayout::kept();
    if (!before.empty() && !layout) {
        const auto types = BtfFile::open("/sys/kernel/btf/vmlinux");
        layout = types ? ModuleLayout::of(*types) : std::nullopt;
        if (layout) layout->keep();
    }
    if (!before.empty() && (head.size() != 1 || !layout)) return false;
    if (!table->each(begin, [&](uint64_t addr, char kind, std::string_view name) { visit({addr, kind, name, {}}); }))
        return false;
    if (before.empty()) return true;
    const auto read = [this](uint64_t addr, std::span<uint8_t> into) { return memory->read(addr, into); };
    return each_module_symbol(head[0].addr, *layout, read, visit) && before == loaded_modules();
}

bool Kallsyms::Impl::make_all() {
    return each_in_memory(0, [&](const ModuleSymbol& s) {
        if (s.module.empty()) made_to = std::max(made_to, s.addr);
        add_line(s.addr, s.kind, s.name, s.module);
    });
}

Result<void> Kallsyms::Impl::load() {
    if (loaded) return {};
    read_at = Clock::now();
    modules = loaded_modules();
    if (!make_all()) return load_text();
    loaded = true;
    return {};
}

Result<void> Kallsyms::Impl::load_text() {
    read_at = Clock::now();
    modules = loaded_modules();
    made_to = 0;
    functions.clear();
    by_name = {};
    by_addr.clear();
    TRY(read_all());
    // Per-CPU symbols have small addresses, 0 among them; a function never has.
    bool any = false;
    each_line([&](const Line& line, uint32_t) {
        any = line.is_text();
        hidden = any && line.addr() == 0;
        return !any;
    });
    if (!any) return Error{Errc::system, fmt::format("{}: no functions in it", path)};
    loaded = true;
    return {};
}

Result<void> Kallsyms::Impl::load_addresses() {
    TRY(load());
    if (!hidden) return {};
    const char* mend = ::geteuid() == 0 ? "allow them with 'sysctl -w kernel.kptr_restrict=1'" : "run as root";
    return Error{Errc::system, fmt::format("{} hides the addresses of the kernel's functions: {}", path, mend)};
}

Line Kallsyms::Impl::line_at(size_t begin, size_t end) const {
    const char* text = data.get() + begin;
    const std::string_view rest(text + name_column, end - begin - name_column);
    const size_t tab = rest.find('\t');
    Line line{text, text[addr_digits + 1], rest.substr(0, tab), {}};
    if (tab != std::string_view::npos && rest.size() > tab + 2)
        line.module = rest.substr(tab + 2, rest.size() - tab - 3);
    return line;
}

bool Kallsyms::refresh() {
    if (!impl_->loaded || impl_->modules == loaded_modules()) return false;
    renew(false);
    return true;
}

// `same`: the modules are those that there were. What is known of others that have gone stays, then.
void Kallsyms::renew(bool same) {
    auto fresh = std::make_unique<Impl>(impl_->path);
    // What is armed goes by these.
    fresh->preferred = std::move(impl_->preferred);
    fresh->preferred_sorted = impl_->preferred_sorted;
    fresh->numbers = std::move(impl_->numbers);
    fresh->looked = impl_->looked;
    fresh->gone = same ? std::move(impl_->gone) : impl_->functions_of_modules();
    fresh->modules_before = std::move(same ? impl_->modules_before : impl_->modules);
    impl_ = std::move(fresh);
}

// An address that lies in no function of vmlinux may be one of a module that came since. Of stacks, thousands a second
// do: they are not to cost a look at /proc/modules each.
bool Kallsyms::Impl::may_look_at_modules() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked < time_between_looks) return false;
    looked = now;
    return true;
}

// ---- by name

// One search, without an index: every place where the name stands behind a blank, ends there and is in a
// name's column.
template <class Visit>
void Kallsyms::Impl::search(std::string_view name, Visit visit) const {
    const std::string wanted = " " + std::string(name);
    const char *at = data.get(), *end = at + size;
    while ((at = static_cast<const char*>(memmem(at, static_cast<size_t>(end - at), wanted.data(), wanted.size())))) {
        const size_t column = static_cast<size_t>(at + 1 - data.get());
        at += wanted.size();
        if (at != end && *at != '\n' && *at != '\t') continue;
        if (column < name_column) continue;
        const size_t begin = column - name_column;
        if (begin == 0 || data[begin - 1] == '\n') visit(line_at(begin));
    }
}

void Kallsyms::Impl::build_by_name() {
    if (by_name.built()) return;
    each_line([&](const Line& line, uint32_t begin) {
        if (line.is_function()) functions.push_back(begin);
        return true;
    });
    by_name.build(static_cast<uint32_t>(functions.size()), [&](const auto& add) {
        for (uint32_t i = 0; i < functions.size(); i++) add(i, line_at(functions[i]).name);
    });
}

// Null: the kernel's memory can't be read, or does not have it.
const KernelNames* Kallsyms::Impl::kernel_names() {
    if (!std::exchange(names_tried, true) && path == kernel_table) {
        if (auto opened = KernelMemory::open()) {
            memory = std::make_shared<const KernelMemory>(std::move(opened).value());
            names = KernelNames::load(memory->vmcoreinfo(), [memory = memory](uint64_t addr, std::span<uint8_t> into) {
                return memory->read(addr, into);
            });
        }
    }
    return names ? &*names : nullptr;
}

// Lines as in /proc/kallsyms.
void Kallsyms::Impl::read_known() {
    if (std::exchange(known_read, true) || path != kernel_table) return;
    const auto copy = cached(cache_name);
    if (!copy) return;
    std::istringstream lines(std::string(reinterpret_cast<const char*>(copy->data()), copy->size()));
    uint64_t addr = 0;
    char kind = 0;
    for (std::string name; lines >> std::hex >> addr >> kind >> name;) known[name].push_back({addr, kind});
}

// All symbols of vmlinux of that name; nullptr: the text has to be asked, or there is none.
const std::vector<KernelNames::Found>* Kallsyms::Impl::quick_find(std::string_view name) {
    read_known();
    if (const auto at = known.find(name); at != known.end()) return &at->second;
    const KernelNames* quick = (loaded && !made_to) || searches >= searches_before_index ? nullptr : kernel_names();
    if (!quick) return nullptr;
    searches++;
    soon.emplace_back(Blacklist::head);  // most who ask for anything ask for that
    std::vector<std::string_view> wanted{name};
    for (const std::string& other : soon)
        if (!known.contains(other) && std::find(wanted.begin(), wanted.end(), other) == wanted.end())
            wanted.push_back(other);
    auto found = quick->find_all(wanted);
    for (size_t i = 0; i < found.size(); i++) {
        if (found[i].empty()) continue;
        known_more = true;
        known[std::string(wanted[i])] = std::move(found[i]);
    }
    soon.clear();
    const auto at = known.find(name);
    return at == known.end() ? nullptr : &at->second;
}

void Kallsyms::keep() {
    if (!std::exchange(impl_->known_more, false)) return;
    std::string lines;
    for (const auto& [name, symbols] : impl_->known)
        for (const auto& [addr, kind] : symbols) lines += fmt::format("{:016x} {} {}\n", addr, kind, name);
    if (lines.size() <= most_kept)
        keep_cached(cache_name, {reinterpret_cast<const uint8_t*>(lines.data()), lines.size()});
}

Result<std::vector<Symbol>> Kallsyms::Impl::find_in_text(std::string_view name, std::string_view module) {
    TRY(load_addresses());
    std::vector<Symbol> found;
    auto take = [&](const Line& line) {
        if (line.name == name && line.is_function() && line.is_in(module)) found.push_back(symbol_of(line));
    };
    if (!by_name.built() && ++searches <= searches_before_index) {
        search(name, take);
    } else {
        build_by_name();
        by_name.each_candidate(name, [&](uint32_t i) { take(line_at(functions[i])); });
    }
    return found;
}

void Kallsyms::expect(std::vector<std::string> names) {
    if (impl_->loaded) return;
    if (names.size() <= searches_before_index) {
        std::move(names.begin(), names.end(), std::back_inserter(impl_->soon));
        return;
    }
    Impl::Expected all{std::move(names), {""}, {}, {}};
    all.by_name.build(static_cast<uint32_t>(all.names.size()), [&](const auto& add) {
        for (uint32_t i = 0; i < all.names.size(); i++) add(i, all.names[i]);
    });
    const bool done = impl_->each_in_memory(0, [&](const ModuleSymbol& s) {
        if (const Line line{nullptr, s.kind, s.name, s.module}; !line.is_function()) return;
        all.by_name.each_candidate(s.name, [&](uint32_t i) {
            if (all.names[i] != s.name) return;
            if (all.modules.back() != s.module) all.modules.emplace_back(s.module);
            all.found.push_back({s.addr, i, static_cast<uint16_t>(all.modules.size() - 1), s.kind});
        });
    });
    if (!done) return;
    std::stable_sort(all.found.begin(), all.found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    impl_->expected.push_back(std::move(all));
}

void Kallsyms::expect_no_more() {
    if (impl_->expected.empty()) return;
    rest();
    ::malloc_trim(0);  // thousands of names lay between what stays
}

void Kallsyms::rest(std::string_view later) {
    if (impl_->names && !later.empty()) (void)impl_->quick_find(later);
    impl_->expected = {};
    impl_->soon.clear();
    impl_->names.reset();
    impl_->memory.reset();
    impl_->names_tried = false;
}

// nullopt: nobody expected that name.
std::optional<std::vector<Symbol>> Kallsyms::Impl::find_expected(std::string_view name, std::string_view module) {
    for (Expected& all : expected) {
        std::optional<std::vector<Symbol>> found;
        all.by_name.each_candidate(name, [&](uint32_t number) {
            if (found || all.names[number] != name) return;
            found.emplace();
            auto at = std::lower_bound(all.found.begin(), all.found.end(), number,
                                       [](const Expected::Found& one, uint32_t wanted) { return one.name < wanted; });
            for (; at != all.found.end() && at->name == number; ++at)
                if (const Line line{nullptr, at->kind, name, all.modules[at->module]}; line.is_in(module))
                    found->push_back({std::string(name), all.modules[at->module], at->addr, at->kind});
        });
        if (found) return found;
    }
    return std::nullopt;
}

Result<std::vector<Symbol>> Kallsyms::find(std::string_view name, std::string_view module) {
    std::vector<Symbol> found;
    auto expected = impl_->find_expected(name, module);
    if (const auto* quick = !expected && (module.empty() || module == "vmlinux") ? impl_->quick_find(name) : nullptr) {
        for (const auto& [addr, kind] : *quick)
            if (is_text(kind)) found.push_back({std::string(name), "", addr, kind});
        if (!found.empty()) return found;
    }
    found = expected ? std::move(*expected) : TRY(impl_->find_in_text(name, module));
    const bool in_vmlinux = std::any_of(found.begin(), found.end(), [](const Symbol& s) { return s.module.empty(); });
    if (in_vmlinux) std::erase_if(found, [](const Symbol& s) { return !s.module.empty(); });
    return found;
}

Result<std::vector<Symbol>> Kallsyms::glob(std::string_view pattern, std::string_view module) {
    std::vector<Symbol> found;
    const bool wild = pattern.empty() || pattern.find_first_of("*?[\\") == 0;
    const bool quick = !impl_->loaded && impl_->each_in_memory(wild ? '\0' : pattern[0], [&](const ModuleSymbol& s) {
        const Line line{nullptr, s.kind, s.name, s.module};
        if (line.is_function() && line.is_in(module) && glob_match(pattern, s.name))
            found.push_back({std::string(s.name), std::string(s.module), s.addr, s.kind});
    });
    if (!quick) {
        found.clear();
        TRY(impl_->load_addresses());
        impl_->each_line([&](const Line& line, uint32_t) {
            if (line.is_function() && line.is_in(module) && glob_match(pattern, line.name))
                found.push_back(symbol_of(line));
            return true;
        });
    }
    std::sort(found.begin(), found.end(),
              [](const Symbol& a, const Symbol& b) { return std::tie(a.name, a.addr) < std::tie(b.name, b.addr); });
    return found;
}

Result<void> Kallsyms::each_function(std::string_view begin, std::string_view module,
                                     const std::function<void(std::string_view)>& visit) {
    TRY(impl_->load());
    impl_->each_line([&](const Line& line, uint32_t) {
        if (line.name.starts_with(begin) && line.is_function() && line.is_in(module)) visit(line.name);
        return true;
    });
    return {};
}

Result<std::vector<Symbol>> Kallsyms::beginning(std::string_view begin) {
    TRY(impl_->load());
    std::vector<Symbol> found;
    impl_->each_line([&](const Line& line, uint32_t) {
        if (line.name.starts_with(begin)) found.push_back(symbol_of(line));
        return true;
    });
    return found;
}

Result<std::vector<std::string>> Kallsyms::near(std::string_view name) {
    TRY(impl_->load());
    Nearest nearest{std::string(name)};
    impl_->each_line([&](const Line& line, uint32_t) {
        if (line.is_function()) nearest.offer(line.name);
        return true;
    });
    return nearest.names();
}

// ---- by address

void Kallsyms::Impl::build_by_addr() {
    if (!by_addr.empty()) return;
    each_line([&](const Line& line, uint32_t begin) {
        if (const uint64_t addr = line.addr(); addr >> 63) by_addr.push_back({addr, begin});
        return true;
    });
    // The table is in order but for modules. Stable: of several symbols at one address the first counts, as
    // it does in the kernel's own messages.
    auto before = [](const Start& a, const Start& b) { return a.addr < b.addr; };
    if (!std::is_sorted(by_addr.begin(), by_addr.end(), before))
        std::stable_sort(by_addr.begin(), by_addr.end(), before);
}

Result<Symbol> Kallsyms::at(uint64_t addr) {
    if (addr - first_number < impl_->numbers.size()) return Symbol{*impl_->preferred_name(addr), "", addr};
    Symbol symbol = TRY(impl_->covering(addr));
    const bool in_vmlinux = !symbol.name.empty() && symbol.module.empty();
    if (in_vmlinux) return symbol;
    // Nor is what lies far behind a module's function, or behind nothing, of what stood there then.
    const bool unsure =
        addr >> 63 && (symbol.name.empty() || is_generated(symbol.module) || addr - symbol.addr > longest_function);
    const bool stale = unsure && Impl::Clock::now() - impl_->read_at > generated_age;
    if (stale) renew(impl_->modules == loaded_modules());
    if (stale || (impl_->may_look_at_modules() && refresh())) symbol = TRY(impl_->covering(addr));
    return symbol;
}

// What stood there in a module that has gone since the table was read before, unless one stands there now that has come
// since; a neighbour that was there then is nothing but near.
Symbol Kallsyms::Impl::gone_at(uint64_t addr, const Symbol& now) const {
    const auto before = [](uint64_t value, const Symbol& symbol) { return value < symbol.addr; };
    const auto after = std::upper_bound(gone.begin(), gone.end(), addr, before);
    if (after == gone.begin() || addr - (after - 1)->addr >= max_cover) return now;
    const Symbol& then = *(after - 1);
    const auto stayed = [this](const std::string& module) {
        return line_of(modules, module) == line_of(modules_before, module);
    };
    const bool is_gone = !stayed(then.module);
    const bool is_near = now.name.empty() || now.module.empty() || stayed(now.module);
    return is_gone && is_near && then.addr > now.addr ? then : now;
}

std::vector<Symbol> Kallsyms::Impl::functions_of_modules() const {
    std::vector<Symbol> all;
    each_line([&](const Line& line, uint32_t) {
        if (!line.module.empty() && line.is_function() && line.addr()) all.push_back(symbol_of(line));
        return true;
    });
    std::stable_sort(all.begin(), all.end(), [](const Symbol& a, const Symbol& b) { return a.addr < b.addr; });
    return all;
}

Result<Symbol> Kallsyms::Impl::covering(uint64_t addr) {
    TRY(load_addresses());
    if (made_to && addr > made_to) TRY(load_text());
    build_by_addr();
    const auto& starts = by_addr;
    auto after = std::upper_bound(starts.begin(), starts.end(), addr,
                                  [](uint64_t value, const Start& start) { return value < start.addr; });
    if (after == starts.begin() || addr - (after - 1)->addr >= max_cover) return Symbol{};
    auto first = std::lower_bound(starts.begin(), after, (after - 1)->addr,
                                  [](const Start& start, uint64_t value) { return start.addr < value; });
    Symbol symbol = symbol_of(line_at(first->line));
    if (const std::string* preferred = preferred_name(symbol.addr)) symbol.name = *preferred;
    return symbol;
}

void Kallsyms::prefer(uint64_t addr, std::string name) {
    auto& all = impl_->preferred;
    if (all.size() == all.capacity()) (void)impl_->preferred_name(0);  // those that others have taken the place of, go
    all.emplace_back(addr, std::move(name));
    impl_->preferred_sorted = false;
}

// Of several for one address, the last.
const std::string* Kallsyms::Impl::preferred_name(uint64_t addr) {
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::exchange(preferred_sorted, true)) {
        std::stable_sort(preferred.begin(), preferred.end(), before);
        size_t kept = 0;
        for (auto& one : preferred) {
            if (kept && preferred[kept - 1].first == one.first) kept--;
            if (&preferred[kept] != &one) preferred[kept] = std::move(one);
            kept++;
        }
        preferred.erase(preferred.begin() + static_cast<std::ptrdiff_t>(kept), preferred.end());
    }
    const auto at = std::lower_bound(preferred.begin(), preferred.end(), std::pair(addr, std::string()), before);
    return at != preferred.end() && at->first == addr ? &at->second : nullptr;
}

uint64_t Kallsyms::number_of(const std::string& name) {
    const auto [at, fresh] = impl_->numbers.try_emplace(name, first_number + impl_->numbers.size());
    if (fresh) prefer(at->second, name);
    return at->second;
}

uint64_t Kallsyms::preferred(std::string_view name) const {
    (void)impl_->preferred_name(0);  // none that others have taken the place of
    const auto& all = impl_->preferred;
    const auto found = std::find_if(all.begin(), all.end(), [name](const auto& one) { return one.second == name; });
    return found == all.end() ? 0 : found->first;
}

Result<uint64_t> Kallsyms::next(uint64_t addr) {
    const std::string module = TRY(at(addr)).module;
    impl_->build_by_addr();
    const auto& starts = impl_->by_addr;
    auto after = std::upper_bound(starts.begin(), starts.end(), addr,
                                  [](uint64_t value, const Impl::Start& start) { return value < start.addr; });
    if (after == starts.end() || impl_->line_at(after->line).module != module) return uint64_t{0};
    return after->addr;
}

uint64_t Kallsyms::quick_address(std::string_view name) {
    const auto* found = impl_->quick_find(name);
    return found ? found->front().addr : 0;
}

Result<uint64_t> Kallsyms::address(std::string_view name) {
    if (const uint64_t quick = quick_address(name)) return quick;
    TRY(impl_->load_addresses());
    uint64_t found = 0;
    impl_->search(name, [&](const Line& line) {
        if (line.name == name && line.module.empty() && !found) found = line.addr();
    });
    return found;
}

std::string Kallsyms::name_of(uint64_t addr) {
    auto symbol = at(addr);
    if (symbol) symbol = impl_->gone_at(addr, *symbol);
    if (!symbol || symbol->name.empty()) return fmt::format("{:#x}", addr);
    std::string text = symbol->name;
    if (addr != symbol->addr) text += fmt::format("+{:#x}", addr - symbol->addr);
    if (!symbol->module.empty()) text += fmt::format(" [{}]", symbol->module);
    return text;
}

}  // namespace kpl
