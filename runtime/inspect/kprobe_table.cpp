// SPDX-License-Identifier: MIT
// struct hlist_head kprobe_table[64]: each chain is of struct kprobe, by its hlist. A kprobe with more than
// one user is an aggregate, whose users hang on its `list`.
#include "inspect/kprobe_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "arch/arch.hpp"

namespace kpl {
namespace {

constexpr unsigned buckets = 64;                            // KPROBE_TABLE_SIZE
constexpr size_t most_probes = 1 << 20;                     // a chain that changed under us may have become a ring
constexpr uint32_t gone = 1, optimized = 4, on_ftrace = 8;  // KPROBE_FLAG_*

struct Layout {
    TypeInfo kprobe, kretprobe, optimized_kprobe;
    Field addr, opcode, flags, missed, pre_handler, post_handler, list, ret_handler, optinsn, copied;
    uint32_t copied_size = 0;
};

struct Handlers {
    uint64_t aggregate, kretprobe;
};

Result<TypeInfo> structure(Types& types, const char* name) {
    return types.resolve(TRY(types.parse(std::string("struct ") + name)));
}

Result<Field> field(Types& types, const TypeInfo& in, const char* name) {
    auto found = TRY(types.field(in.id, name));
    if (!found) return Error{Errc::system, fmt::format("struct {} has no field '{}' in this kernel", in.name, name)};
    return *found;
}

Result<Layout> layout_of(Types& types) {
    Layout l;
    l.kprobe = TRY(structure(types, "kprobe"));
    l.addr = TRY(field(types, l.kprobe, "addr"));
    l.opcode = TRY(field(types, l.kprobe, "opcode"));
    l.flags = TRY(field(types, l.kprobe, "flags"));
    l.missed = TRY(field(types, l.kprobe, "nmissed"));
    l.pre_handler = TRY(field(types, l.kprobe, "pre_handler"));
    l.post_handler = TRY(field(types, l.kprobe, "post_handler"));
    l.list = TRY(field(types, l.kprobe, "list"));
    if (auto ret = structure(types, "kretprobe")) {
        l.kretprobe = *ret;
        l.ret_handler = TRY(field(types, l.kretprobe, "handler"));
    }
    if (auto opt = structure(types, "optimized_kprobe"); opt && opt->kind == TypeKind::Struct) {
        l.optimized_kprobe = *opt;
        l.optinsn = TRY(field(types, *opt, "optinsn"));
        const TypeInfo insn = TRY(types.resolve(l.optinsn.type));
        l.copied = TRY(field(types, insn, "copied_insn"));
        l.copied_size = TRY(types.resolve(l.copied.type)).size;
    }
    return l;
}

template <class T>
T at(const std::vector<uint8_t>& bytes, uint32_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, &bytes[offset], sizeof(T));
    return value;
}

class Walk {
  public:
    Walk(const KernelMemory& memory, const Layout& layout, const Handlers& handlers, size_t opcode_size)
        : memory_(memory), layout_(layout), handlers_(handlers), opcode_size_(opcode_size) {}

    KprobeTable walk(uint64_t table) {
        for (unsigned i = 0; i < buckets; i++) {
            auto node = memory_.get<uint64_t>(table + i * sizeof(uint64_t));
            while (node && *node && out_.probes.size() < most_probes) node = visit(*node);
        }
        return std::move(out_);
    }

  private:
    // A kprobe of a chain: its hlist is its first member, and so is `next` in that.
    std::optional<uint64_t> visit(uint64_t address) {
        std::vector<uint8_t> probe(layout_.kprobe.size);
        if (!memory_.read(address, probe)) return std::nullopt;
        if (at<uint64_t>(probe, layout_.pre_handler.offset) == handlers_.aggregate)
            children(address + layout_.list.offset, at<uint64_t>(probe, layout_.list.offset));
        else
            add(address, probe);
        patch(address, probe);
        return at<uint64_t>(probe, 0);
    }

    void children(uint64_t head, uint64_t node) {
        std::vector<uint8_t> probe(layout_.kprobe.size);
        while (node != head && out_.probes.size() < most_probes) {
            const uint64_t address = node - layout_.list.offset;
            if (!memory_.read(address, probe)) return;
            add(address, probe);
            node = at<uint64_t>(probe, layout_.list.offset);
        }
    }

    void add(uint64_t address, const std::vector<uint8_t>& probe) {
        KernelKprobe one;
        one.addr = at<uint64_t>(probe, layout_.addr.offset);
        one.missed = at<uint64_t>(probe, layout_.missed.offset);
        one.handler = at<uint64_t>(probe, layout_.pre_handler.offset);
        if (!one.handler) one.handler = at<uint64_t>(probe, layout_.post_handler.offset);
        one.is_return = one.handler == handlers_.kretprobe && layout_.kretprobe.size;
        if (one.is_return) {
            // The kprobe is a kretprobe's first member.
            const uint64_t handler = memory_.get<uint64_t>(address + layout_.ret_handler.offset).value_or(0);
            if (handler) one.handler = handler;
        }
        out_.probes.push_back(one);
    }

    // The bytes that were there: of an int3 the first, of a jump those behind it, too.
    void patch(uint64_t address, const std::vector<uint8_t>& probe) {
        const uint32_t flags = at<uint32_t>(probe, layout_.flags.offset);
        if (flags & (gone | on_ftrace)) return;
        KernelPatch patch{at<uint64_t>(probe, layout_.addr.offset), {}};
        const auto opcode = probe.begin() + layout_.opcode.offset;
        patch.original.assign(opcode, opcode + static_cast<ptrdiff_t>(opcode_size_));
        if (flags & optimized && layout_.copied_size && memory_.get<uint8_t>(patch.addr) == host_arch().jump) {
            std::vector<uint8_t> copied(layout_.copied_size);
            if (!memory_.read(address + layout_.optinsn.offset + layout_.copied.offset, copied)) return;
            patch.original.insert(patch.original.end(), copied.begin(), copied.end());
        }
        out_.patches.push_back(std::move(patch));
    }

    const KernelMemory& memory_;
    const Layout& layout_;
    Handlers handlers_;
    size_t opcode_size_;
    KprobeTable out_;
};

}  // namespace

Result<KprobeTable> read_kprobe_table(const KernelMemory& memory, Kallsyms& symbols, Types& types) {
    const uint64_t table = TRY(symbols.address("kprobe_table"));
    if (!table)
        return Error{Errc::system, "the kernel's table of kprobes has no symbol: CONFIG_KALLSYMS_ALL is not set"};
    const Layout layout = TRY(layout_of(types));
    const Handlers handlers{TRY(symbols.address("aggr_pre_handler")), TRY(symbols.address("pre_handler_kretprobe"))};
    const size_t opcode_size = TRY(types.resolve(layout.opcode.type)).size;
    return Walk(memory, layout, handlers, opcode_size).walk(table);
}

}  // namespace kpl
