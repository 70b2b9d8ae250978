// SPDX-License-Identifier: MIT
#include "repl/context.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "ir/probe_kinds.hpp"

namespace kpl {
namespace {

struct Token {
    enum class Type { Name, String, Number, Sign } type;
    std::string text;
    bool open = false;  // a string without its end
    size_t end = 0;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// From '[' on: the length of "[[" or "[==["; 0: it is none.
size_t long_bracket(std::string_view text) {
    const size_t level = text.find_first_not_of('=', 1);
    return text.starts_with('[') && level != text.npos && text[level] == '[' ? level + 1 : 0;
}

// Behind the string or comment that begins with a long bracket.
size_t long_end(std::string_view text, size_t at, size_t bracket) {
    const std::string close = "]" + std::string(bracket - 2, '=') + "]";
    const size_t end = text.find(close, at + bracket);
    return end == text.npos ? text.npos : end + close.size();
}

std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    const auto add = [&](Token::Type type, size_t from, size_t to, bool open = false) {
        tokens.push_back({type, std::string(text.substr(from, to - from)), open, to});
    };
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (std::isspace(static_cast<unsigned char>(c))) {
            at++;
        } else if (text.substr(at).starts_with("--")) {
            const size_t bracket = long_bracket(text.substr(at + 2));
            const size_t end = bracket ? long_end(text, at + 2, bracket) : text.find('\n', at);
            if (end == text.npos) {
                tokens.push_back({Token::Type::Sign, "--", true, text.size()});  // the cursor is in a comment
                return tokens;
            }
            at = end;
        } else if (is_name(c)) {
            size_t end = at;
            while (end < text.size() && is_name(text[end])) end++;
            add(std::isdigit(static_cast<unsigned char>(c)) ? Token::Type::Number : Token::Type::Name, at, end);
            at = end;
        } else if (c == '"' || c == '\'') {
            size_t end = at + 1;
            while (end < text.size() && text[end] != c && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
            const bool open = end >= text.size();
            add(Token::Type::String, at + 1, std::min(end, text.size()), open);
            at = end + 1;
        } else if (const size_t bracket = long_bracket(text.substr(at))) {
            const size_t end = long_end(text, at, bracket);
            const bool open = end == text.npos;
            add(Token::Type::String, at + bracket, open ? text.size() : end - bracket, open);
            at = open ? text.size() : end;
        } else {
            add(Token::Type::Sign, at, at + 1);
            at++;
        }
    }
    return tokens;
}

bool is_declarator(std::string_view name) { return find_probe_kind(name) != nullptr; }

// Brackets and blocks that are open at the cursor.
struct Frame {
    char open;
    std::string callee;
    std::string first_string{};
    bool first = true;  // no ',' yet
};
// local NAME = …
struct Local {
    std::string name;
    size_t value;  // its first token
};
struct Block {
    std::optional<InputContext::Handler> handler{};
    std::vector<Local> locals{};
};

struct Reader {
    const std::vector<Token>& tokens;
    std::vector<Frame> frames{};
    std::vector<Block> blocks{1};  // the first is the input itself
    bool in_params = false;

    const std::string& back(size_t i, size_t n) const {
        static const std::string nothing;
        return i >= n ? tokens[i - n].text : nothing;
    }
    void open(size_t i, char bracket) {
        const bool called = i > 0 && tokens[i - 1].type == Token::Type::Name && back(i, 1) != "function";
        std::string callee = called ? back(i, 1) : "";
        // kprobe({…}) is kprobe{…}; a list in the place of a target is a target.
        if (bracket == '{' && !called && !frames.empty() && frames.back().first &&
            (back(i, 1) == "(" || (back(i, 1) == "{" && is_declarator(frames.back().callee))))
            callee = frames.back().callee;
        frames.push_back({bracket, std::move(callee)});
    }
    void begin_function(size_t i) {
        Block block;
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
            if (is_declarator(frame->callee)) {
                const bool keyed = frame->open == '{' && back(i, 1) == "=";
                block.handler = {frame->callee, frame->first_string, keyed ? back(i, 2) : "", {}, false};
                break;
            }
        blocks.push_back(std::move(block));
        in_params = true;
    }
    void sign(size_t i) {
        const char c = tokens[i].text[0];
        if (c == '(' || c == '{' || c == '[') open(i, c);
        if ((c == ')' || c == '}' || c == ']') && !frames.empty()) {
            std::string string = std::move(frames.back().first_string), callee = std::move(frames.back().callee);
            frames.pop_back();
            if (!frames.empty() && frames.back().first_string.empty() && frames.back().callee == callee)
                frames.back().first_string = string;
            if (c == ')') in_params = false;
        }
        if (c == ',' && !frames.empty()) frames.back().first = false;
    }
    void name(size_t i) {
        const std::string& word = tokens[i].text;
        if (word == "function") return begin_function(i);
        if (word == "if" || word == "do" || word == "repeat") blocks.push_back({});
        if ((word == "end" || word == "until") && blocks.size() > 1) blocks.pop_back();
        if (word == "local" && i + 2 < tokens.size() && tokens[i + 2].text == "=")
            blocks.back().locals.push_back({tokens[i + 1].text, i + 3});
        if (in_params && blocks.back().handler && !frames.empty() && frames.back().open == '(')
            blocks.back().handler->params.push_back(word);
    }
    // The innermost, of those declared before the token `before`.
    const Local* find_local(const std::string& name, size_t before) const {
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            for (auto local = block->locals.rbegin(); local != block->locals.rend(); ++local)
                if (local->name == name && local->value < before) return &*local;
            if (!block->handler) continue;
            const auto& params = block->handler->params;
            if (std::find(params.begin(), params.end(), name) != params.end()) return nullptr;
        }
        return nullptr;
    }
    void read() {
        for (size_t i = 0; i < tokens.size(); i++) {
            if (tokens[i].type == Token::Type::Sign) sign(i);
            if (tokens[i].type == Token::Type::Name) name(i);
            if (tokens[i].type == Token::Type::String && !frames.empty() && frames.back().first_string.empty())
                frames.back().first_string = tokens[i].text;
        }
    }
};

bool is_sign(const Token& token, const char* sign) { return token.type == Token::Type::Sign && token.text == sign; }

// Where the bracket that closes at `i` was opened; npos: nowhere.
size_t opening(const std::vector<Token>& tokens, size_t i) {
    const char *const close = is_sign(tokens[i], ")") ? ")" : "]", *const open = is_sign(tokens[i], ")") ? "(" : "[";
    int depth = 0;
    for (size_t at = i + 1; at-- > 0;) {
        if (is_sign(tokens[at], close)) depth++;
        if (is_sign(tokens[at], open) && --depth == 0) return at;
    }
    return std::string::npos;
}

// Behind the path that begins at `i`: names, indices and calls.
size_t path_end(const std::vector<Token>& tokens, size_t i) {
    int depth = 0;
    for (bool wanted = true; i < tokens.size(); i++) {
        const Token& token = tokens[i];
        if (is_sign(token, "(") || is_sign(token, "[")) {
            if (wanted && !depth) return i;
            depth++;
        } else if (is_sign(token, ")") || is_sign(token, "]")) {
            if (!depth) return i;
            depth--;
        } else if (!depth) {
            if (wanted ? token.type != Token::Type::Name : !is_sign(token, ".")) return i;
            wanted = !wanted;
        }
    }
    return i;
}

// The names before the '.' at `dot`, the first one first.
std::vector<std::string> path_before(const std::vector<Token>& tokens, size_t dot) {
    std::vector<std::string> path;
    for (size_t at = dot; at > 0;) {
        const Token& token = tokens[at - 1];
        size_t begin = at - 1;
        if (token.type == Token::Type::Name) {
            path.insert(path.begin(), token.text);
        } else if (is_sign(token, "]")) {
            at = opening(tokens, begin);
            if (at == std::string::npos) return {};
            const bool one = at + 2 == begin;
            if (one && tokens[at + 1].type == Token::Type::String)
                path.insert(path.begin(), tokens[at + 1].text);
            else
                path.insert(path.begin(), "[" + (one ? tokens[at + 1].text : "") + "]");
            continue;
        } else if (is_sign(token, ")")) {
            const size_t open = opening(tokens, at - 1);
            if (open == std::string::npos || open == 0 || tokens[open - 1].type != Token::Type::Name) return {};
            begin = open - 1;
            if (tokens[begin].text == "cast" && tokens[open + 1].type == Token::Type::String) {
                path.insert(path.begin(), "(" + tokens[open + 1].text + ")");
                return path;
            }
            path.insert(path.begin(), tokens[begin].text + "()");
        } else {
            return {};
        }
        if (begin == 0 || !is_sign(tokens[begin - 1], ".")) return path;
        at = begin - 1;
    }
    return {};
}

// A path that begins with a local variable begins with what that was made of.
std::vector<std::string> without_locals(const Reader& reader, std::vector<std::string> path) {
    size_t before = reader.tokens.size();
    while (!path.empty()) {
        const Local* const local = reader.find_local(path.front(), before);
        if (!local) break;
        std::vector<std::string> value = path_before(reader.tokens, path_end(reader.tokens, local->value));
        if (value.empty()) break;
        value.insert(value.end(), path.begin() + 1, path.end());
        path = std::move(value);
        before = local->value;
    }
    return path;
}

InputContext::Kind string_kind(const std::string& callee, bool first) {
    constexpr std::array targets{"functions", "instructions", "help"};
    constexpr std::array files{"require", "dofile", "loadfile", "save", "open"};
    constexpr std::array types{"cast", "sizeof", "offsetof", "enumname", "typeof"};
    const auto is_of = [&](const auto& names) { return std::find(names.begin(), names.end(), callee) != names.end(); };
    if (first && (is_declarator(callee) || is_of(targets))) return InputContext::Kind::Target;
    if (first && is_of(files)) return InputContext::Kind::File;
    return first && is_of(types) ? InputContext::Kind::CType : InputContext::Kind::Nothing;
}

}  // namespace

InputContext context_of(std::string_view text) {
    InputContext context;
    const std::vector<Token> tokens = tokens_of(text);
    Reader reader{tokens};
    reader.read();
    for (auto block = reader.blocks.rbegin(); block != reader.blocks.rend() && !context.handler; ++block)
        context.handler = block->handler;
    if (context.handler) context.handler->in_params = reader.in_params;
    const size_t count = tokens.size();
    if (count && tokens.back().open) {
        if (tokens.back().type != Token::Type::String) return context;
        const bool called = count > 1 && tokens[count - 2].type == Token::Type::Name;
        context.callee = called ? tokens[count - 2].text : reader.frames.empty() ? "" : reader.frames.back().callee;
        context.kind = string_kind(context.callee, called || (!reader.frames.empty() && reader.frames.back().first));
        context.word = tokens.back().text;
        return context;
    }
    const bool typing = count && tokens.back().type == Token::Type::Name && tokens.back().end == text.size();
    const size_t before = typing ? count - 1 : count;
    if (typing) context.word = tokens.back().text;
    const std::string sign = before ? tokens[before - 1].text : "";
    context.kind = InputContext::Kind::Name;
    if (before && (sign == "." || sign == ":") && tokens[before - 1].type == Token::Type::Sign) {
        context.path = without_locals(reader, path_before(tokens, before - 1));
        context.method = sign == ":";
        if (context.path.empty()) context.kind = InputContext::Kind::Nothing;
    } else if (!reader.frames.empty() && reader.frames.back().open == '{' &&
               is_declarator(reader.frames.back().callee) && (sign == "{" || sign == ",")) {
        context.kind = InputContext::Kind::Option;
        context.callee = reader.frames.back().callee;
    } else if (!reader.frames.empty() && reader.in_params) {
        context.kind = InputContext::Kind::Nothing;
    }
    return context;
}

}  // namespace kpl
