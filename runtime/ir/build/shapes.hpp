// SPDX-License-Identifier: MIT
// What handlers store into one event, map, key or p.data, unified over all of them.
//
// Handlers are built in rounds until nothing changes: in each round every store widens the shape that it goes
// to, and every read takes the type that the shape has so far. The last round changes nothing, so what it
// built is right; only its errors count.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/build/cfg.hpp"
#include "ir/build/diagnostics.hpp"
#include "ir/build/value.hpp"
#include "ir/unit.hpp"

namespace kpl::builder {

// A store that does not fit: what was there before, and where it came from.
struct Conflict {
    Type before;
    SourceLoc at;
};

struct FieldShape {
    Type type;     // Undefined: only nil was stored
    SourceLoc at;  // first store
    bool nilable = false;
    bool declared = false;    // by the script: its type stays
    uint32_t stores = 0;      // in this round
    bool nil_stored = false;  // in this round
};

// Orders "2" before "10": tuple elements keep their order, names sort as text.
struct FieldOrder {
    bool operator()(const std::string& a, const std::string& b) const;
};

class RecordShape {
  public:
    using Fields = std::map<std::string, FieldShape, FieldOrder>;

    // Widens field `name`; Nil makes it nil-able.
    std::optional<Conflict> store(const std::string& name, const Type& type, const SourceLoc& at);
    // A site stored a whole record: fields that another site's record lacks become nil-able.
    void count_site() { sites_++; }
    // p.data: a read that not every path has stored before.
    void make_nilable(const std::string& name);

    void begin_round();
    // True when this round changed something.
    bool end_round(bool whole_records);

    const Fields& fields() const { return fields_; }
    const FieldShape* find(const std::string& name) const;
    bool fixed() const { return fixed_; }
    // Compiled handlers take this field as always there.
    bool needs(const std::string& name) const;
    // Whether a handler of this build stores into it.
    bool used() const { return sites_ != 0 || !fields_.empty(); }
    // Adopts what was laid out or declared before; `fixed`: nothing may change it any more.
    void adopt(const Unit& unit, const Layout& layout, const SourceLoc& at, bool fixed);

  private:
    Fields fields_;
    uint32_t sites_ = 0;
    bool changed_ = false;
    bool fixed_ = false;
};

// Whether keys and values are tables or single values, and the line that said so first.
struct Form {
    std::optional<bool> table;
    SourceLoc at;
};

struct MapShape {
    RecordShape key, value;
    Form keyed, tuple, structure;     // used with a key; key is a table; value is a table
    Layout key_layout, value_layout;  // of the round before
};

struct EventShape {
    RecordShape record;
    Layout layout;
};

struct DataShape {
    RecordShape fields;
    Layout layout;
    bool has_entry = false;
    // What every path through entry stores: of the round before, and of this one.
    std::optional<std::set<std::string>> entry_stores, entry_stores_now;
    // Fields that a handler (by index) stores, of any round: reads there copy strings first.
    std::set<std::pair<size_t, std::string>> stored_by;
};

// Tables that turned out to be lists, and what is put into them: known from the round before.
struct ListSite {
    Type element;                                          // Undefined: nothing yet
    std::map<std::string, std::optional<uint32_t>> grows;  // by site: how often at most
    uint32_t most() const;                                 // elements
    uint32_t bytes() const;
};

// Everything that the handlers of one build share.
struct UnitState {
    UnitState(Unit& u, Types& t, const BuildOptions& o);

    void begin_round();
    bool end_round();
    // Layouts into the unit; errors when one is too large.
    void finish();

    Unit& unit;
    Types& types;
    const BuildOptions& options;
    Diagnostics diag;
    std::vector<MapShape> maps;
    std::vector<EventShape> events;
    std::vector<DataShape> data;
    std::vector<PrintfDecl> printfs;                          // of this round
    std::map<std::string, Type> hints;                        // by block: the type that a variable has at a loop's head
    std::map<std::string, ListSite> lists;                    // by site: where the table is made
    std::set<std::string> extra_heads;                        // by block: those that a goto makes the head of a loop
    std::map<std::string, std::set<std::string>> taken_back;  // by block: fields of p.data that a loop makes nil
    std::set<size_t> changers;  // handlers that change registers, or where execution goes on
    bool changed = false;

    // A captured function's code, decoded once: references to one function come and go.
    Result<std::shared_ptr<const Proto>> proto(const FunctionRef& function);
    const Cfg& cfg(const std::shared_ptr<const Proto>& proto);

  private:
    std::map<const void*, std::shared_ptr<const Proto>> protos_;  // by the function's identity
    std::map<std::shared_ptr<const Proto>, Cfg> cfgs_;
};

// Where strings go: inline (keys, values, data), or in a record's tail.
enum class Strings : uint8_t { Inline, Tail };
Layout make_layout(const Unit& unit, const RecordShape::Fields& fields, Strings strings,
                   const std::vector<std::string>& order = {});
Type type_of(const FieldLayout& field, const Unit& unit);
// The type that holds both, or nothing.
std::optional<Type> widen(const Type& a, const Type& b);
Type list_of(const Type& element, uint32_t bytes);
Type element_of(const Type& list);

// The bytes of a string value or stack of this type.
uint32_t string_bytes(const Type& type);

}  // namespace kpl::builder
