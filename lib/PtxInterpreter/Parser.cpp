//===- Parser.cpp - PTX text to syntax ---------------------------------------------===//
//
// The parser accepts the output of LLVM's NVPTX backend and handwritten PTX, including nested scopes with local names
// (for inline assembly and call sequences), forward references to labels, and branch tables. Debug sections are
// skipped. Each error contains a line and a column.
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/NumberText.h"
#include "lib/PtxInterpreter/Cursor.h"

#include <bit>
#include <cstring>
#include <utility>

namespace tilewright::ptx {
namespace {

/// Returns the number of bits of a fundamental type such as ".f32". For a packed type, counts the bits of all its
/// elements. Returns 0 if `type` is neither.
unsigned bitsOf(const std::string &type) {
  if (type == ".pred")
    return 1;
  if (type == ".f16x2" || type == ".bf16x2")
    return 32;
  if (type == ".bf16")
    return 16;
  if (type.size() < 3 || !strchr("bsuf", type[1]))
    return 0;
  for (unsigned bits : {8, 16, 32, 64, 128})
    if (type.compare(2, std::string::npos, std::to_string(bits)) == 0)
      return bits;
  return 0;
}

class Parser : Cursor {
public:
  Parser(Syntax &syntax, std::string &error) : Cursor(syntax, error) {}

  bool run(const std::string &text) {
    if (!tokenize(text, tokens, error)) {
      error = syntax.file + ":" + error;
      return false;
    }
    findFiles();
    try {
      while (peek().kind != Token::Kind::End)
        topLevel();
    } catch (const Refusal &) {
      return false;
    }
    return true;
  }

private:
  //===--- the module ---===//
  void topLevel() {
    Token first = peek();
    std::string text = word("a directive");
    if (text == ".version")
      syntax.version = versionText();
    else if (text == ".target") {
      syntax.target = word("an architecture");
      while (accept(","))
        word("a target option");
    } else if (text == ".address_size") {
      if (integer() != 64)
        fail(first, "only .address_size 64 is supported");
    } else if (text == ".file")
      fileDirective();
    else if (text == ".loc")
      locDirective();
    else if (text == ".pragma")
      skipTo(";");
    else if (text == ".section") {
      while (!is("{"))
        skipOne();
      skipBraces();
    } else if (text == ".visible" || text == ".extern" || text == ".weak" || text == ".common") {
      isExtern = text == ".extern";
      return; // the linkage applies to the directive that follows
    } else if (text == ".entry" || text == ".func")
      function(text == ".entry");
    else if (text == ".global" || text == ".const" || text == ".shared")
      variables(syntax.variables, spaceOf(text), globals, Term::Kind::Global);
    else
      fail(first, "unknown directive '" + text + "'");
    isExtern = false;
  }
  std::string versionText() {
    Token token = take();
    if (token.kind != Token::Kind::Float64 && token.kind != Token::Kind::Integer)
      fail(token, "expected a version");
    double value = token.kind == Token::Kind::Float64 ? std::bit_cast<double>(token.bits) : double(token.bits);
    return numberText("%.1f", value);
  }
  void skipOne() {
    if (peek().kind == Token::Kind::End)
      fail(peek(), "unexpected end of the file");
    take();
  }
  void skipTo(const char *mark) {
    while (!is(mark))
      skipOne();
    take();
  }
  void skipBraces() {
    unsigned depth = 0;
    do {
      depth += is("{");
      depth -= is("}");
      skipOne();
    } while (depth);
  }
  static Space spaceOf(const std::string &word) {
    return word == ".global"   ? Space::Global
           : word == ".const"  ? Space::Const
           : word == ".shared" ? Space::Shared
           : word == ".local"  ? Space::Local
                               : Space::Param;
  }

  using Names = std::map<std::string, Term>;

  /// Parses a variable declaration after its .shared or similar directive. The declaration ends before a semicolon or,
  /// for a parameter, before a comma or a closing parenthesis.
  Variable variable(Space space) {
    Variable made;
    made.space = space;
    made.line = peek().line;
    unsigned bits = 0, lanes = 1;
    uint64_t align = 0;
    while (peek().kind == Token::Kind::Word && peek().text[0] == '.') {
      Token token = take();
      if (token.text == ".align")
        (sawPointer ? ignored : align) = integer();
      else if (token.text == ".v2" || token.text == ".v4")
        lanes = token.text == ".v2" ? 2 : 4;
      else if (token.text == ".ptr")
        sawPointer = true;
      else if (unsigned found = bitsOf(token.text))
        bits = found;
      else if (token.text != ".global" && token.text != ".shared" && token.text != ".const" && token.text != ".local" &&
               token.text != ".attribute" && token.text != ".managed" && token.text != ".reg" && token.text != ".param")
        fail(token, "unknown type '" + token.text + "'");
    }
    sawPointer = false;
    if (!bits)
      fail(peek(), "expected a type");
    made.name = word("a name");
    uint64_t unit = uint64_t(bits + 7) / 8 * lanes, count = 1;
    made.align = align ? align : unit;
    while (accept("[")) {
      if (accept("]")) {
        made.unsized = true;
        count = 0;
        continue;
      }
      count *= integer();
      expect("]");
    }
    made.bytes = unit * count;
    if (made.bytes > uint64_t(1) << 32)
      fail(peek(), "the variable '" + made.name + "' is too large");
    if (accept("="))
      initializer(made, unit / lanes);
    return made;
  }
  void initializer(Variable &made, uint64_t unit) {
    made.initial.reserve(made.bytes);
    unsigned depth = 0;
    do {
      if (accept("{"))
        ++depth;
      else if (accept("}"))
        --depth;
      else {
        bool negative = accept("-");
        Token token = take();
        if (token.kind != Token::Kind::Integer && token.kind != Token::Kind::Float32 &&
            token.kind != Token::Kind::Float64)
          fail(token, "the initializer of '" + made.name + "' is not a number; addresses are not supported");
        uint64_t bits = negative ? 0 - token.bits : token.bits;
        for (uint64_t byte = 0; byte < unit; ++byte)
          made.initial.push_back(uint8_t(bits >> (8 * byte)));
      }
      accept(",");
    } while (depth);
    if (made.initial.size() > made.bytes)
      fail(peek(), "too many initial values for '" + made.name + "'");
  }
  void variables(std::vector<Variable> &list, Space space, Names &names, Term::Kind kind,
                 Variable::Role role = Variable::Role::Plain) {
    Variable made = variable(space);
    made.role = role;
    made.unsized |= isExtern && made.bytes == 0;
    declare(list, std::move(made), names, kind);
    expect(";");
  }
  void declare(std::vector<Variable> &list, Variable made, Names &names, Term::Kind kind) {
    Term term;
    term.kind = kind;
    term.index = uint32_t(list.size());
    names[made.name] = term;
    list.push_back(std::move(made));
  }

  //===--- a function ---===//
  struct Scope {
    Names names;
    std::map<std::string, uint32_t> labels;
  };
  struct PendingLabel {
    uint32_t statement, term;
    std::vector<uint32_t> scopes; ///< scopes that are open at the use of the label, the outermost first
    Token where;
  };

  void formals(Variable::Role role) {
    expect("(");
    while (!accept(")")) {
      if (!accept(".param") && !accept(".reg"))
        fail(peek(), "expected .param, found " + shown(peek()));
      Variable made = variable(Space::Param);
      made.role = role;
      declare(current->variables, std::move(made), scopes[0].names, Term::Kind::Local);
      if (!is(")"))
        expect(",");
    }
  }

  void function(bool entry) {
    FunctionSyntax made;
    current = &made;
    scopes.assign(1, Scope());
    open.assign(1, 0);
    pending.clear();
    pendingTables.clear();
    made.entry = entry;
    made.line = peek().line;
    if (is("("))
      formals(Variable::Role::Result);
    made.name = word("the name of a function");
    if (is("("))
      formals(Variable::Role::Formal);
    while (!is("{") && !is(";"))
      functionDirective();
    if (accept("{")) {
      made.defined = true;
      while (!accept("}"))
        statement();
      resolveLabels();
    } else
      expect(";");
    forgetLocation();
    syntax.functions.push_back(std::move(made));
  }
  void functionDirective() {
    Token token = take();
    if (token.text == ".reqntid")
      current->requiredThreads = integers();
    else if (token.text == ".maxntid")
      current->maximalThreads = integers();
    else if (token.text == ".minnctapersm" || token.text == ".maxnreg" || token.text == ".maxclusterrank" ||
             token.text == ".abi_preserve" || token.text == ".abi_preserve_control")
      integers();
    else if (token.text == ".reqnctapercluster")
      current->requiredCluster = integers();
    else if (token.text == ".blocksareclusters")
      fail(token, "grids that count clusters cannot be run yet");
    else if (token.text == ".explicitcluster")
      ; // the launch specifies the number of blocks of a cluster
    else if (token.text == ".pragma")
      skipTo(";");
    else if (token.text != ".noreturn")
      fail(token, "unknown directive " + shown(token) + " of a function");
  }

  void statement() {
    Token first = peek();
    if (accept("{")) {
      if (open.size() > 64)
        fail(first, "scopes nest too deep");
      scopes.emplace_back();
      open.push_back(uint32_t(scopes.size() - 1));
      while (!accept("}"))
        statement();
      open.pop_back();
      return;
    }
    if (accept(";"))
      return;
    if (first.kind == Token::Kind::Mark && first.text == "@") {
      instruction();
      return;
    }
    std::string text = word("an instruction");
    if (text == ".reg")
      return registers();
    if (text == ".loc")
      return locDirective();
    if (text == ".file")
      return fileDirective();
    if (text == ".pragma")
      return pragma();
    if (text == ".param" || text == ".local" || text == ".shared" || text == ".const" || text == ".global")
      return variables(current->variables, spaceOf(text), scopes[open.back()].names, Term::Kind::Local,
                       text == ".param" ? Variable::Role::CallParam : Variable::Role::Plain);
    if (text[0] == '.')
      fail(first, "unknown directive '" + text + "'");
    if (accept(":")) {
      if (accept(".branchtargets"))
        return branchTargets(text);
      if (accept(".callprototype"))
        return skipTo(";");
      if (!scopes[open.back()].labels.emplace(text, uint32_t(current->body.size())).second)
        fail(first, "the label '" + text + "' is defined twice");
      return;
    }
    --at;
    instruction();
  }
  /// The pragma "used_bytes_mask 0xfff" specifies the bytes that the next load uses. Other pragmas are ignored.
  void pragma() {
    const std::string prefix = "used_bytes_mask ";
    Token token = peek();
    if (token.kind == Token::Kind::String && token.text.starts_with(prefix))
      usedBytes = uint32_t(std::strtoul(token.text.c_str() + prefix.size(), nullptr, 0));
    skipTo(";");
  }
  void registers() {
    Token type = take();
    unsigned bits = bitsOf(type.text);
    if (!bits)
      fail(type, "unknown register type '" + type.text + "'");
    do {
      std::string name = word("the name of a register");
      uint64_t count = 0;
      bool range = accept("<");
      if (range) {
        count = integer();
        expect(">");
        if (count > 1u << 20)
          fail(type, "too many registers");
      }
      for (uint64_t i = 0; i < (range ? count : 1); ++i) {
        Term term;
        term.kind = Term::Kind::Register;
        term.index = uint32_t(current->registers.size());
        std::string full = range ? name + std::to_string(i) : name;
        scopes[open.back()].names[full] = term;
        current->registers.push_back({full, uint8_t(bits)});
      }
    } while (accept(","));
    expect(";");
  }
  void branchTargets(const std::string &name) {
    pendingTables.push_back({name, {}, open, peek()});
    do
      pendingTables.back().labels.push_back(word("a label"));
    while (accept(","));
    expect(";");
  }

  void instruction() {
    Statement made;
    if (accept("@")) {
      made.guardNegated = accept("!");
      Token where = peek();
      Term guard = term();
      if (guard.kind != Term::Kind::Register)
        fail(where, "the guard is not a register");
      made.guard = int32_t(guard.index);
    }
    made.line = peek().line;
    made.column = peek().column;
    made.location = location;
    made.usedBytes = std::exchange(usedBytes, ~0u);
    made.opcode = word("an instruction");
    if (made.opcode[0] == '.' || made.opcode[0] == '%')
      fail(tokens[at - 1], "expected an instruction, found '" + made.opcode + "'");
    if (!is(";")) {
      do {
        made.terms.push_back(term());
        if (accept("|")) {
          Term pair;
          pair.kind = Term::Kind::Pair;
          pair.parts = {std::move(made.terms.back()), term()};
          made.terms.back() = std::move(pair);
        }
      } while (accept(","));
    }
    expect(";");
    for (uint32_t i = 0; i < made.terms.size(); ++i)
      if (made.terms[i].kind == Term::Kind::Name)
        pending.push_back({uint32_t(current->body.size()), i, open, tokens[at - 1]});
    current->body.push_back(std::move(made));
  }

  Term term(unsigned depth = 0) {
    Token token = peek();
    Term made;
    if (depth > 8)
      fail(token, "operands nest too deep");
    if (accept("!")) {
      made = term(depth + 1);
      made.negated = true;
      return made;
    }
    if (accept("{"))
      return list(Term::Kind::Vector, "}", depth);
    if (accept("("))
      return list(Term::Kind::List, ")", depth);
    if (accept("[")) {
      made.kind = Term::Kind::Address;
      made.parts.push_back(term(depth + 1));
      if (accept("+"))
        made.bits += integer();
      else if (is("-"))
        made.bits += integer();
      while (accept(",")) // the coordinates of a tensor
        made.parts.push_back(term(depth + 1));
      expect("]");
      return made;
    }
    bool negative = accept("-");
    token = take();
    if (token.kind == Token::Kind::Integer || token.kind == Token::Kind::Float32 ||
        token.kind == Token::Kind::Float64) {
      made.kind = token.kind == Token::Kind::Integer   ? Term::Kind::Integer
                  : token.kind == Token::Kind::Float32 ? Term::Kind::Float32
                                                       : Term::Kind::Float64;
      made.bits = token.bits;
      if (negative)
        made.bits = token.kind == Token::Kind::Integer   ? 0 - token.bits
                    : token.kind == Token::Kind::Float32 ? token.bits ^ 0x80000000u
                                                         : token.bits ^ (uint64_t(1) << 63);
      return made;
    }
    if (token.kind != Token::Kind::Word || negative)
      fail(token, "expected an operand, found " + shown(token));
    if (token.text == "_")
      return made;
    for (size_t i = open.size(); i-- > 0;) {
      auto found = scopes[open[i]].names.find(token.text);
      if (found != scopes[open[i]].names.end())
        return plus(found->second);
    }
    if (auto found = globals.find(token.text); found != globals.end())
      return plus(found->second);
    if (token.text == "WARP_SZ") {
      made.kind = Term::Kind::Integer;
      made.bits = 32;
      return made;
    }
    made.kind = Term::Kind::Name;
    made.name = token.text;
    return made;
  }
  /// Parses the constant that may follow a variable used as a value: mov.b64 %rd1, tile+16.
  Term plus(Term made) {
    if ((made.kind == Term::Kind::Local || made.kind == Term::Kind::Global) && accept("+"))
      made.bits = integer();
    return made;
  }
  Term list(Term::Kind kind, const char *end, unsigned depth) {
    Term made;
    made.kind = kind;
    while (!accept(end)) {
      made.parts.push_back(term(depth + 1));
      if (!is(end))
        expect(",");
    }
    return made;
  }

  //===--- labels ---===//
  const uint32_t *label(const std::string &name, const std::vector<uint32_t> &from) {
    for (size_t i = from.size(); i-- > 0;) {
      auto found = scopes[from[i]].labels.find(name);
      if (found != scopes[from[i]].labels.end())
        return &found->second;
    }
    return nullptr;
  }
  void resolveLabels() {
    for (const auto &use : pending) {
      Term &term = current->body[use.statement].terms[use.term];
      if (const uint32_t *target = label(term.name, use.scopes)) {
        term.kind = Term::Kind::Label;
        term.index = *target;
      } else if (current->body[use.statement].opcode.compare(0, 3, "bra") == 0)
        fail(use.where, "there is no label '" + term.name + "'");
    }
    for (const PendingTable &table : pendingTables)
      for (const std::string &name : table.labels) {
        const uint32_t *target = label(name, table.scopes);
        if (!target)
          fail(table.where, "there is no label '" + name + "'");
        current->tables[table.name].push_back(*target);
      }
  }

  struct PendingTable {
    std::string name;
    std::vector<std::string> labels;
    std::vector<uint32_t> scopes;
    Token where;
  };

  Names globals;
  FunctionSyntax *current = nullptr;
  std::vector<Scope> scopes;  ///< all scopes of the function
  std::vector<uint32_t> open; ///< indices of the open scopes
  std::vector<PendingLabel> pending;
  std::vector<PendingTable> pendingTables;
  uint32_t usedBytes = ~0u; ///< mask of the bytes that the next instruction uses
  uint64_t ignored = 0;
  bool isExtern = false, sawPointer = false;
};

} // namespace

bool parse(const std::string &text, const std::string &file, Syntax &syntax, std::string &error) {
  syntax.file = file;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    syntax.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return Parser(syntax, error).run(text);
}

} // namespace tilewright::ptx
