// SPDX-License-Identifier: MIT
// The form: struct mod_kallsyms (include/linux/module.h); what is printed of it: kernel/module/kallsyms.c.
#include "symbols/module_names.hpp"

#include <bpf/btf.h>
#include <elf.h>

#include <cstring>

#include "symbols/boot_cache.hpp"
#include "symbols/btf_file.hpp"

namespace kpl {
namespace {

constexpr const char* layout_cache = "module-layout";
constexpr uint64_t first_kernel_address = uint64_t{1} << 63;
constexpr uint32_t most_modules = 4096, most_module_symbols = 1 << 20, most_text = 64 << 20, text_step = 64 << 10;
constexpr uint32_t unformed = 3;  // MODULE_STATE_UNFORMED

// The beginning of struct module.
struct Head {
    uint32_t state;
    struct {
        uint64_t next, previous;
    } list;
    char name[64 - sizeof(unsigned long)];
};
constexpr uint64_t list_at = offsetof(Head, list);

std::optional<uint32_t> member_offset(const BtfFile& file, std::string_view type, std::string_view member) {
    const auto found = file.find(type, kind_bit(BTF_KIND_STRUCT));
    if (found.empty()) return std::nullopt;
    const btf_type* t = file.type(found.front());
    for (uint32_t i = 0; i < btf_vlen(t); i++)
        if (file.name(btf_members(t)[i].name_off) == member) return btf_member_bit_offset(t, i) / 8;
    return std::nullopt;
}

template <class T>
bool get(const std::function<bool(uint64_t, std::span<uint8_t>)>& read, uint64_t addr, std::vector<T>& into) {
    return addr >= first_kernel_address &&
           read(addr, {reinterpret_cast<uint8_t*>(into.data()), into.size() * sizeof(T)});
}

template <class T>
bool get(const std::function<bool(uint64_t, std::span<uint8_t>)>& read, uint64_t addr, T& into) {
    return addr >= first_kernel_address && read(addr, {reinterpret_cast<uint8_t*>(&into), sizeof(T)});
}

}  // namespace

std::optional<ModuleLayout> ModuleLayout::of(const BtfFile& vmlinux) {
    ModuleLayout layout{};
    const struct {
        const char *type, *member;
        uint32_t* into;
    } wanted[] = {{"module", "kallsyms", &layout.kallsyms},
                  {"mod_kallsyms", "symtab", &layout.symtab},
                  {"mod_kallsyms", "num_symtab", &layout.num_symtab},
                  {"mod_kallsyms", "strtab", &layout.strtab},
                  {"mod_kallsyms", "typetab", &layout.typetab}};
    for (const auto& [type, member, into] : wanted) {
        const auto offset = member_offset(vmlinux, type, member);
        if (!offset) return std::nullopt;
        *into = *offset;
    }
    return layout;
}

std::optional<ModuleLayout> ModuleLayout::kept() {
    const auto copy = cached(layout_cache);
    ModuleLayout layout{};
    if (!copy || copy->size() != sizeof layout) return std::nullopt;
    std::memcpy(&layout, copy->data(), sizeof layout);
    return layout;
}

void ModuleLayout::keep() const { keep_cached(layout_cache, {reinterpret_cast<const uint8_t*>(this), sizeof *this}); }

bool each_module_symbol(uint64_t head, const ModuleLayout& layout,
                        const std::function<bool(uint64_t addr, std::span<uint8_t> into)>& read,
                        const std::function<void(const ModuleSymbol&)>& visit) {
    uint64_t at = 0;
    uint32_t modules = 0;
    if (!get(read, head, at)) return false;
    for (Head module; at != head; at = module.list.next) {
        uint64_t table = 0, symtab = 0, strtab = 0, typetab = 0;
        uint32_t count = 0;
        const uint64_t start = at - list_at;
        if (++modules > most_modules || !get(read, start, module)) return false;
        if (module.state == unformed) continue;
        if (!memchr(module.name, 0, sizeof module.name) || !get(read, start + layout.kallsyms, table)) return false;
        if (!get(read, table + layout.symtab, symtab) || !get(read, table + layout.num_symtab, count) ||
            !get(read, table + layout.strtab, strtab) || !get(read, table + layout.typetab, typetab))
            return false;
        if (count == 0) continue;
        if (count > most_module_symbols) return false;
        std::vector<Elf64_Sym> symbols(count);
        std::vector<char> kinds(count), text;
        if (!get(read, symtab, symbols) || !get(read, typetab, kinds)) return false;
        // How long the strings are nothing says but the last of them.
        uint32_t last = 0;
        for (const Elf64_Sym& symbol : symbols) last = std::max(last, symbol.st_name);
        if (last > most_text) return false;
        text.resize(last);
        if (last && !get(read, strtab, text)) return false;
        for (char c = 1; c; text.push_back(c))
            if (text.size() > last + text_step || !get(read, strtab + text.size(), c)) return false;
        for (uint32_t i = 0; i < count; i++)
            if (symbols[i].st_shndx != SHN_UNDEF && text[symbols[i].st_name])
                visit({symbols[i].st_value, kinds[i], text.data() + symbols[i].st_name, module.name});
    }
    return true;
}

}  // namespace kpl
