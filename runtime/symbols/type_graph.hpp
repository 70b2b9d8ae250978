// SPDX-License-Identifier: MIT
// The types of vmlinux, of its modules and those that a script spells, as one graph with one numbering.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "symbols/btf_file.hpp"
#include "symbols/types.hpp"

namespace kpl {

enum class NodeKind : uint8_t {
    Void,
    Int,
    Bool,
    Char,
    Float,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Forward,
    Function,
    Typedef,
    Const,
    Volatile,
    Restrict,
    Tag,  // these stand for their target
};

// A type as it is declared, nothing removed.
struct Node {
    NodeKind kind = NodeKind::Void;
    bool is_signed = false;
    bool is_union = false;  // Forward
    uint32_t size = 0;      // Int, Bool, Char, Float, Struct, Union, Enum
    uint32_t count = 0;     // Array
    TypeId target = 0;      // Pointer, Array, Function (its result) and those that stand for their target
    std::string_view name;  // lives as long as the graph
};

struct Member {
    std::string_view name;  // empty: anonymous struct, union or padding
    TypeId type = 0;
    uint32_t bit_offset = 0;
    uint32_t bit_size = 0;  // 0: no bit field
};

struct Enumerator {
    std::string_view name;
    int64_t value = 0;  // 64-bit unsigned ones by their bits
};

// What a name may stand for.
enum NameKinds : uint32_t { name_type = 1, name_struct = 2, name_union = 4, name_enum = 8, name_function = 16 };

class TypeGraph {
  public:
    explicit TypeGraph(std::string btf_dir) : dir_(std::move(btf_dir)) {}

    // Loads vmlinux's BTF unless it is there already.
    Result<void> load();
    // False when the directory has no such module. Needs vmlinux.
    Result<bool> load_module(const std::string& name);
    void load_all_modules();                        // those that can't be read are left out
    size_t parts() const { return parts_.size(); }  // files that are loaded
    void keep() const {                             // leaves what the next start goes by
        if (!parts_.empty()) parts_.front()->file.keep();
    }

    Result<Node> node(TypeId id) const;
    // The node behind typedefs and qualifiers, and its id.
    Result<std::pair<TypeId, Node>> strip(TypeId id) const;
    std::vector<Member> members(TypeId id) const;          // of a Struct or Union
    std::vector<Param> params(TypeId id) const;            // of a Function; the last of a vararg: nameless void
    std::vector<Enumerator> enumerators(TypeId id) const;  // of an Enum

    // All of that name in vmlinux ("" for `module`) or in one loaded module. Forwards are not found.
    std::vector<TypeId> find(std::string_view name, uint32_t kinds, const std::string& module = {}) const;
    void expect(std::vector<std::string> names, uint32_t kinds) const;  // of vmlinux
    // The first of that name: in vmlinux, in the loaded modules, in modules that are loaded for it.
    std::optional<TypeId> find_anywhere(std::string_view name, uint32_t kinds);
    // The struct or union that a Forward announces; the module of the Forward goes before other modules.
    std::optional<TypeId> definition(TypeId forward);

    // The type of a variable of vmlinux, all of which are per-CPU.
    std::optional<TypeId> variable(std::string_view name) const;

    // Every type of that kind that is loaded (NameKinds).
    std::vector<TypeId> all(uint32_t kinds) const;

    // A type that need not be in any file. Equal ones get one id.
    TypeId make(NodeKind kind, TypeId target, uint32_t count = 0);
    // `name` must outlive the graph.
    TypeId make_int(NodeKind kind, std::string_view name, uint32_t size, bool is_signed);

  private:
    struct Part {
        std::string module;  // empty: vmlinux
        BtfFile file;
        TypeId first = 0;  // the graph's id of the file's first own type
    };
    struct Entry {
        const Part* part;
        uint32_t id;  // within the file
        const btf_type* type;
    };
    // Types that were made are numbered from here.
    static constexpr TypeId made_first = 1u << 31;

    std::optional<Entry> entry(TypeId id) const;
    TypeId global(const Part& part, uint32_t id) const;
    std::vector<TypeId> find_in(const Part& part, std::string_view name, uint32_t kinds) const;
    TypeId add_made(const Node& node);

    std::string dir_;
    std::vector<std::unique_ptr<Part>> parts_;  // vmlinux first
    bool all_loaded_ = false;
    std::vector<Node> made_;
};

}  // namespace kpl
