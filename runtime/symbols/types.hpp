// SPDX-License-Identifier: MIT
// The kernel's C types, from BTF. Loaded when first asked for: a script with no types loads no BTF.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace kpl {

// A BTF type id within one Types object. 0 is void. Modules' types continue vmlinux's numbering.
using TypeId = uint32_t;

enum class TypeKind : uint8_t { Void, Int, Bool, Char, Float, Enum, Pointer, Array, Struct, Union, Function, Forward };

// A type with typedefs and qualifiers removed.
struct TypeInfo {
    TypeId id = 0;  // of the resolved type
    TypeKind kind = TypeKind::Void;
    uint32_t size = 0;       // bytes; 0 for void, functions, forwards
    bool is_signed = false;  // Int, Enum, Char
    TypeId element = 0;      // Pointer: target; Array: element (unresolved: resolve() again)
    uint32_t count = 0;      // Array: elements (0: flexible)
    std::string name;        // tag or base name; may be empty
};

// A member reached by name, through anonymous structs and unions.
struct Field {
    TypeId type = 0;
    uint32_t offset = 0;     // bytes from the start of the outer struct
    uint8_t bit_offset = 0;  // bit fields: first bit within the `bit_bytes` bytes at offset (little endian)
    uint8_t bit_size = 0;    // 0: no bit field
    uint8_t bit_bytes = 0;   // bit fields: 1, 2, 4 or 8 bytes to read; they lie within the struct
};

// A type as a script spells it.
struct Declaration {
    TypeId type = 0;
    bool user = false;  // a pointer into the process's memory: "struct timespec user *"
};

// A member as it stands in its struct or union.
struct MemberInfo {
    std::string name;  // empty: of an unnamed struct or union, whose members follow
    TypeId type = 0;
    uint32_t bit_offset = 0, bit_size = 0;
    std::string text;  // "struct dentry *dentry"
    int depth = 0;     // in unnamed ones
};

struct Param {
    std::string name;
    TypeId type = 0;
};

struct Signature {
    std::string name;
    TypeId result = 0;  // 0: void
    std::vector<Param> params;
    bool vararg = false;
    std::string text;  // as C declares it, for messages
};

class Types {
  public:
    // `btf_dir` is /sys/kernel/btf, or a directory like it. Nothing is read yet.
    explicit Types(std::string btf_dir = "/sys/kernel/btf");
    ~Types();
    Types(Types&&) noexcept;
    Types& operator=(Types&&) noexcept;

    // Each loads what it needs; an Error says what is missing (no BTF: which kernel option or file).
    // Without `module`, only vmlinux is searched. nullopt: BTF knows no such function, has no such module, or has
    // several (static) functions of that name with different parameters.
    Result<std::optional<Signature>> function(std::string_view name, std::string_view module = {});
    // function() will be asked for these of vmlinux, if for any.
    void expect(std::vector<std::string> functions);
    // What a tracepoint of that name passes. A parameter whose name BTF does not keep is called arg1, arg2 and so on.
    Result<std::optional<Signature>> tracepoint(std::string_view name, std::string_view module = {});
    // A Forward that comes out has no definition anywhere.
    Result<TypeInfo> resolve(TypeId id);
    // nullopt: no such member. Type must resolve to Struct or Union.
    Result<std::optional<Field>> field(TypeId type, std::string_view name);
    // Parses "struct sk_buff *", "unsigned long", "u32", "char[16]", "const struct file*", typedef names.
    Result<TypeId> parse(std::string_view c_declaration);
    Result<Declaration> parse_declaration(std::string_view c_declaration);
    Result<TypeId> pointer_to(TypeId type);
    // "struct file", "union …", "enum …", typedefs of vmlinux that begin so, ascending.
    Result<std::vector<std::string>> names(std::string_view begin);
    // In their order, with those of unnamed structs and unions behind these; none of what is no struct or union.
    Result<std::vector<MemberInfo>> members(TypeId type);
    // An enum constant by name, searched in all enums of vmlinux and of the modules that were asked for; nullopt if
    // there is none, an Error if two enums give it different values.
    Result<std::optional<int64_t>> enumerator(std::string_view name);
    // The constants of an enum, by value; of those with one value, the first.
    Result<std::map<int64_t, std::string>> enumerators(TypeId id);
    // The type of vmlinux's per-CPU variable of that name; nullopt: there is none.
    Result<std::optional<TypeId>> per_cpu_variable(std::string_view name);
    // C spelling for messages: "struct file *".
    Result<std::string> spell(TypeId type);
    // Member names that are near to a misspelt one, best first, at most three.
    Result<std::vector<std::string>> near_fields(TypeId type, std::string_view name);
    // When there is time for it: leaves the types where the next start finds them sooner.
    void keep() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace kpl
