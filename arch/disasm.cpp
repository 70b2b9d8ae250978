// SPDX-License-Identifier: MIT
#include "arch/disasm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "arch/capstone.hpp"

namespace kpl {
namespace {

// Capstone's handle and its one instruction buffer.
class Disassembler {
  public:
    static Result<Disassembler> open(const Arch& arch) {
        Disassembler d(TRY(Capstone::load()));
        const cs_err error = d.lib_->cs_open(static_cast<cs_arch>(arch.capstone_arch),
                                             static_cast<cs_mode>(arch.capstone_mode), &d.handle_);
        if (error != CS_ERR_OK)
            return Error{Errc::system,
                         fmt::format("no disassembler for {}: {}", arch.name, d.lib_->cs_strerror(error))};
        if (arch.capstone_arch == CS_ARCH_X86) d.lib_->cs_option(d.handle_, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
        d.lib_->cs_option(d.handle_, CS_OPT_DETAIL, CS_OPT_ON);
        d.insn_ = d.lib_->cs_malloc(d.handle_);
        d.arch_ = arch.capstone_arch;
        return d;
    }
    Disassembler(Disassembler&& other) noexcept
        : lib_(other.lib_),
          handle_(std::exchange(other.handle_, 0)),
          insn_(std::exchange(other.insn_, nullptr)),
          arch_(other.arch_) {}
    Disassembler& operator=(Disassembler&&) = delete;
    ~Disassembler() {
        if (insn_) lib_->cs_free(insn_, 1);
        if (handle_) lib_->cs_close(&handle_);
    }

    // The instruction at the start of `code`; nullopt if there is none.
    std::optional<NativeInsn> one(std::span<const uint8_t> code, uint64_t addr) {
        const uint8_t* at = code.data();
        size_t left = code.size();
        uint64_t next = addr;
        if (!lib_->cs_disasm_iter(handle_, &at, &left, &next, insn_)) return std::nullopt;
        NativeInsn out{addr, code.first(insn_->size), insn_->mnemonic, target()};
        if (insn_->op_str[0]) out.text += fmt::format(" {}", insn_->op_str);
        return out;
    }

    // How far to go on behind what is no instruction.
    size_t step() const { return arch_ == CS_ARCH_ARM64 ? 4 : 1; }

  private:
    explicit Disassembler(const Capstone* lib) : lib_(lib) {}

    std::optional<uint64_t> target() const {
        if (!lib_->cs_insn_group(handle_, insn_, CS_GRP_JUMP) && !lib_->cs_insn_group(handle_, insn_, CS_GRP_CALL))
            return std::nullopt;
        const cs_detail& detail = *insn_->detail;
        // The last operand: cbz and tbz of arm64 name what they test first.
        if (arch_ == CS_ARCH_X86 && detail.x86.op_count > 0) {
            const cs_x86_op& op = detail.x86.operands[detail.x86.op_count - 1];
            if (op.type == X86_OP_IMM) return static_cast<uint64_t>(op.imm);
        }
        if (arch_ == CS_ARCH_ARM64 && detail.arm64.op_count > 0) {
            const cs_arm64_op& op = detail.arm64.operands[detail.arm64.op_count - 1];
            if (op.type == ARM64_OP_IMM) return static_cast<uint64_t>(op.imm);
        }
        return std::nullopt;
    }

    const Capstone* lib_;
    csh handle_ = 0;
    cs_insn* insn_ = nullptr;
    int arch_ = 0;
};

std::string hex(std::span<const uint8_t> bytes) {
    std::string out;
    for (uint8_t byte : bytes) out += fmt::format("{}{:02x}", out.empty() ? "" : " ", byte);
    return out;
}

NativeInsn not_an_insn(std::span<const uint8_t> bytes, uint64_t addr) {
    std::string text;
    for (uint8_t byte : bytes) text += fmt::format("{}{:#04x}", text.empty() ? ".byte " : ", ", byte);
    return {addr, bytes, text, std::nullopt};
}

}  // namespace

Result<std::vector<NativeInsn>> disassemble(const Arch& arch, std::span<const uint8_t> code, uint64_t addr) {
    Disassembler disassembler = TRY(Disassembler::open(arch));
    std::vector<NativeInsn> out;
    while (!code.empty()) {
        auto insn = disassembler.one(code, addr);
        if (!insn) insn = not_an_insn(code.first(std::min(disassembler.step(), code.size())), addr);
        code = code.subspan(insn->bytes.size());
        addr += insn->bytes.size();
        out.push_back(std::move(*insn));
    }
    return out;
}

Result<std::vector<NativeInsn>> disassemble(const Arch& arch, std::span<const uint8_t> code, uint64_t addr,
                                            std::span<const uint8_t> lengths) {
    Disassembler disassembler = TRY(Disassembler::open(arch));
    std::vector<NativeInsn> out;
    for (const uint8_t length : lengths) {
        const auto bytes = code.first(length);
        auto insn = disassembler.one(bytes, addr);
        if (!insn || insn->bytes.size() != length) insn = not_an_insn(bytes, addr);
        code = code.subspan(length);
        addr += length;
        out.push_back(std::move(*insn));
    }
    return out;
}

std::string print_native(std::span<const NativeInsn> insns, const std::function<std::string(uint64_t)>& name_of) {
    size_t width = 0;
    for (const NativeInsn& insn : insns) width = std::max(width, insn.bytes.size());
    std::string out;
    for (const NativeInsn& insn : insns) {
        out += fmt::format("{:016x}  {:<{}}  {}", insn.addr, hex(insn.bytes), width * 3 - 1, insn.text);
        const std::string name = insn.target && name_of ? name_of(*insn.target) : "";
        out += name.empty() ? "\n" : fmt::format("  <{}>\n", name);
    }
    return out;
}

}  // namespace kpl
