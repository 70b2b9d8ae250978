// SPDX-License-Identifier: MIT
#include "symbols/c_decl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "symbols/nearest.hpp"

namespace kpl {
namespace {

// C's own number types: how people write them, how compilers name them in BTF, and what they are.
struct BaseType {
    std::string_view usual, btf;
    NodeKind kind;
    uint32_t size;  // on 64-bit Linux
    bool is_signed;
};
constexpr BaseType base_types[] = {
    {"char", "char", NodeKind::Char, 1, true},
    {"signed char", "signed char", NodeKind::Int, 1, true},
    {"unsigned char", "unsigned char", NodeKind::Int, 1, false},
    {"short", "short int", NodeKind::Int, 2, true},
    {"unsigned short", "short unsigned int", NodeKind::Int, 2, false},
    {"int", "int", NodeKind::Int, 4, true},
    {"unsigned int", "unsigned int", NodeKind::Int, 4, false},
    {"long", "long int", NodeKind::Int, 8, true},
    {"unsigned long", "long unsigned int", NodeKind::Int, 8, false},
    {"long long", "long long int", NodeKind::Int, 8, true},
    {"unsigned long long", "long long unsigned int", NodeKind::Int, 8, false},
    {"_Bool", "_Bool", NodeKind::Bool, 1, false},
    {"float", "float", NodeKind::Float, 4, true},
    {"double", "double", NodeKind::Float, 8, true},
};

constexpr std::string_view qualifiers[] = {"const",  "volatile", "restrict", "__restrict", "user",
                                           "__user", "__rcu",    "__percpu", "__iomem"};
bool is_qualifier(std::string_view word) {
    return std::find(std::begin(qualifiers), std::end(qualifiers), word) != std::end(qualifiers);
}

// ---- spelling

std::string joined(std::string_view base, const std::string& inner) {
    if (inner.empty() || inner[0] == '[') return std::string(base) + inner;
    return std::string(base) + " " + inner;
}

std::string tagged(std::string_view keyword, std::string_view name) {
    return fmt::format("{} {}", keyword, name.empty() ? "{...}" : name);
}

// C reads from the inside out: `inner` is what has been spelled so far, around it comes this type.
class Speller {
  public:
    explicit Speller(const TypeGraph& graph) : graph_(graph) {}

    Result<std::string> spell(TypeId type, std::string inner, int depth = 0) {
        if (depth > 64) return Error{Errc::system, fmt::format("BTF type {} has no end", type)};
        Node n = TRY(graph_.node(type));
        switch (n.kind) {
            case NodeKind::Void: return joined("void", inner);
            case NodeKind::Int:
            case NodeKind::Bool:
            case NodeKind::Char:
            case NodeKind::Float: return joined(usual_spelling(n.name), inner);
            case NodeKind::Typedef: return joined(n.name, inner);
            case NodeKind::Struct: return joined(tagged("struct", n.name), inner);
            case NodeKind::Union: return joined(tagged("union", n.name), inner);
            case NodeKind::Enum: return joined(tagged("enum", n.name), inner);
            case NodeKind::Forward: return joined(tagged(n.is_union ? "union" : "struct", n.name), inner);
            case NodeKind::Tag: return spell(n.target, inner, depth + 1);
            case NodeKind::Const: return qualified("const", n.target, inner, depth);
            case NodeKind::Volatile: return qualified("volatile", n.target, inner, depth);
            case NodeKind::Restrict: return qualified("restrict", n.target, inner, depth);
            case NodeKind::Pointer: {
                const NodeKind target = TRY(declarator_of(n.target));
                inner = "*" + inner;
                if (target == NodeKind::Array || target == NodeKind::Function) inner = "(" + inner + ")";
                return spell(n.target, inner, depth + 1);
            }
            case NodeKind::Array:
                return spell(n.target, inner + (n.count ? fmt::format("[{}]", n.count) : "[]"), depth + 1);
            case NodeKind::Function:
                inner += "(" + TRY(params(type, depth)) + ")";
                return spell(n.target, inner, depth + 1);
        }
        return Error{Errc::system, "a BTF type of unknown kind"};
    }

  private:
    // The node that decides how a pointer to `type` is written: qualifiers and tags don't.
    Result<NodeKind> declarator_of(TypeId type) {
        for (int steps = 0; steps < 64; steps++) {
            Node n = TRY(graph_.node(type));
            if (n.kind < NodeKind::Const) return n.kind;
            type = n.target;
        }
        return Error{Errc::system, fmt::format("BTF type {} has no end", type)};
    }

    // A qualified pointer has its qualifier behind the star, anything else before it.
    Result<std::string> qualified(std::string_view word, TypeId target, const std::string& inner, int depth) {
        if (TRY(declarator_of(target)) == NodeKind::Pointer) return spell(target, joined(word, inner), depth + 1);
        return fmt::format("{} {}", word, TRY(spell(target, inner, depth + 1)));
    }

    Result<std::string> params(TypeId function, int depth) {
        const std::vector<Param> list = graph_.params(function);
        if (list.empty()) return std::string("void");
        std::string out;
        for (size_t i = 0; i < list.size(); i++) {
            const bool ellipsis = i + 1 == list.size() && list[i].type == 0 && list[i].name.empty();
            if (i > 0) out += ", ";
            out += ellipsis ? "..." : TRY(spell(list[i].type, list[i].name, depth + 1));
        }
        return out;
    }

    const TypeGraph& graph_;
};

// ---- parsing

class Parser {
  public:
    Parser(TypeGraph& graph, std::string_view text) : graph_(graph), text_(text) { advance(); }

    Result<Declaration> parse() {
        TypeId type = TRY(base());
        bool user = false;
        while (is_qualifier(token_) || token_ == "*") {
            if (token_ == "*") {
                type = graph_.make(NodeKind::Pointer, type);
                user = std::exchange(user_, false);
                advance();
            } else {
                skip_qualifiers();
            }
        }
        std::vector<uint32_t> counts;
        while (token_ == "[") {
            advance();
            uint32_t count = 0;
            if (token_ != "]") {
                auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), count);
                if (error != std::errc() || end != token_.data() + token_.size()) return bad();
                advance();
            }
            if (token_ != "]") return bad();
            advance();
            counts.push_back(count);
        }
        if (!token_.empty()) return bad();
        for (size_t i = counts.size(); i-- > 0;) type = graph_.make(NodeKind::Array, type, counts[i]);
        if (user_ || (user && !counts.empty()))
            return Error{Errc::script, "\"user\" marks what a pointer points to: \"struct timespec user *\""};
        return Declaration{type, user};
    }

  private:
    static bool word_char(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }

    void advance() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t' || text_[0] == '\n')) text_.remove_prefix(1);
        size_t length = 0;
        while (length < text_.size() && word_char(text_[length])) length++;
        if (length == 0 && !text_.empty()) length = 1;  // punctuation
        token_ = text_.substr(0, length);
        text_.remove_prefix(length);
    }

    void skip_qualifiers() {
        for (; is_qualifier(token_); advance()) user_ |= token_ == "user" || token_ == "__user";
    }

    bool at_word() const { return !token_.empty() && word_char(token_[0]) && !(token_[0] >= '0' && token_[0] <= '9'); }

    Error bad() const {
        if (token_.empty()) return {Errc::script, "the C type is not complete"};
        return {Errc::script,
                fmt::format("unexpected \"{}\" in a C type: it is a name, then any number of * and [n]", token_)};
    }

    Result<TypeId> base() {
        skip_qualifiers();
        if (!at_word()) return bad();
        const std::string_view first = token_;
        if (first == "struct" || first == "union" || first == "enum") return tag();
        if (first == "void") {
            advance();
            return TypeId{0};
        }
        if (auto number = TRY(number_type())) return *number;
        advance();
        if (auto found = graph_.find_anywhere(first, name_type)) return *found;
        return unknown(std::string(first), name_type, "");
    }

    Result<TypeId> tag() {
        const std::string keyword(token_);
        advance();
        if (!at_word()) return bad();
        const std::string name(token_);
        advance();
        const uint32_t kind = keyword == "struct" ? name_struct : keyword == "union" ? name_union : name_enum;
        if (auto found = graph_.find_anywhere(name, kind)) return *found;
        return unknown(name, kind, keyword + " ");
    }

    // C's number types, in any order of their words; nullopt when the words are none of these.
    Result<std::optional<TypeId>> number_type() {
        static constexpr std::string_view words[] = {"signed", "unsigned", "short", "long",  "int",
                                                     "char",   "_Bool",    "float", "double"};
        std::array<int, std::size(words)> seen{};
        int total = 0;
        for (;; total++) {
            skip_qualifiers();
            auto word = std::find(std::begin(words), std::end(words), token_);
            if (word == std::end(words)) break;
            seen[static_cast<size_t>(word - std::begin(words))]++;
            advance();
        }
        if (total == 0) return std::optional<TypeId>();
        const auto [is_signed, is_unsigned, shorts, longs, ints, chars, bools, floats, doubles] = seen;
        std::string usual;
        auto add = [&](std::string_view word) { usual += (usual.empty() ? "" : " ") + std::string(word); };
        if (is_unsigned || (is_signed && chars)) add(is_unsigned ? "unsigned" : "signed");
        if (shorts) add("short");
        for (int i = 0; i < longs; i++) add("long");
        if (chars) add("char");
        if (bools) add("_Bool");
        if (floats) add("float");
        if (doubles) add("double");
        if (!shorts && !longs && !chars && !bools && !floats && !doubles) add("int");
        // A sound list of words has each of them at most once (long twice), and adds up to a known type.
        auto type = std::find_if(std::begin(base_types), std::end(base_types),
                                 [&](const BaseType& t) { return t.usual == usual; });
        const int expected = is_signed + is_unsigned + shorts + longs + ints + chars + bools + floats + doubles;
        const bool sound = is_signed + is_unsigned <= 1 && shorts + chars + bools + floats + doubles <= 1 &&
                           ints <= 1 && !(ints && (chars || bools || floats || doubles)) && expected == total;
        if (type == std::end(base_types) || !sound) return Error{Errc::script, "these words make no C type"};
        if (auto found = graph_.find(type->btf, name_type); !found.empty()) return std::optional(found.front());
        return std::optional(graph_.make_int(type->kind, type->usual, type->size, type->is_signed));
    }

    Error unknown(const std::string& name, uint32_t kinds, const std::string& prefix) {
        Nearest nearest(name);
        for (TypeId id : graph_.all(kinds))
            if (auto node = graph_.node(id); node && !node->name.empty()) nearest.offer(node->name);
        std::vector<std::string> names = nearest.names();
        for (std::string& near : names) near = prefix + near;
        if (kinds == name_type)  // the usual slip of the tongue
            if (auto found = graph_.find(name, name_struct); !found.empty()) names = {"struct " + name};
        return {Errc::script, fmt::format("this kernel has no type \"{}{}\"{}", prefix, name, did_you_mean(names))};
    }

    TypeGraph& graph_;
    std::string_view text_;   // what is behind the token
    std::string_view token_;  // empty at the end
    bool user_ = false;       // the next '*' points to the process's memory
};

}  // namespace

std::string_view usual_spelling(std::string_view btf_name) {
    for (const BaseType& type : base_types)
        if (type.btf == btf_name) return type.usual;
    return btf_name;
}

Result<std::string> spell_type(const TypeGraph& graph, TypeId type, const std::string& name) {
    return Speller(graph).spell(type, name);
}

Result<Declaration> parse_type(TypeGraph& graph, std::string_view text) { return Parser(graph, text).parse(); }

}  // namespace kpl
