//===- Decode.cpp - convert syntax to code -------------------------------------------------------===//
//
// decode() looks up every instruction in the table, checks its operands against the signature, and assigns rows to
// registers and addresses to variables. There are gaps between shared variables, so that an access beyond the end of a
// variable does not access the next variable.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Handlers.h"
#include "lib/PtxInterpreter/Machine.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>
#include <bit>

namespace tilewright::ptx {
namespace {

struct Undecodable {};

class Decoder {
public:
  Decoder(const Syntax &syntax, const GlobalAddresses &globals, std::string &error)
      : syntax(syntax), globals(globals), error(error), code(std::make_unique<Code>()) {}

  std::unique_ptr<Code> run(const std::string &kernel, uint64_t dynamicShared) {
    const FunctionSyntax *function = syntax.find(kernel);
    if (!function || !function->entry) {
      error = syntax.file + ": there is no kernel '" + kernel + "'";
      return nullptr;
    }
    code->syntax = &syntax;
    code->kernel = kernel;
    reserveDynamic(*function);
    try {
      enlist(*function);
      for (uint32_t i = 0; i < code->functions.size(); ++i) // decoding a call appends its callee to code->functions
        decodeFunction(i);
      placeDynamic(dynamicShared);
    } catch (const Undecodable &) {
      return nullptr;
    }
    return std::move(code);
  }

private:
  [[noreturn]] void fail(const Statement &at, const std::string &what) {
    error = syntax.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + what;
    throw Undecodable();
  }

  //===--- variables ---===//
  static uint64_t aligned(uint64_t value, uint64_t align) {
    return align ? (value + align - 1) / align * align : value;
  }

  void placeShared(const Variable &variable, uint64_t &address) {
    if (variable.unsized) {
      address = ~uint64_t(0); // its address is assigned with the dynamic shared memory, after all other variables
      dynamicAlign = std::max(dynamicAlign, variable.align);
      return;
    }
    uint64_t align = std::max<uint64_t>(variable.align, 16);
    sharedTop = aligned(std::max(sharedTop, kSharedBase), align);
    address = sharedTop;
    code->shared.push_back({variable.name, address, variable.bytes});
    code->staticShared = aligned(code->staticShared, variable.align) + variable.bytes;
    // Leave a gap of at least 128 bytes. The next variable is in the first bank, because its address is a multiple of
    // 128.
    sharedTop = aligned(sharedTop + variable.bytes + 128, 128);
  }
  /// Reserves space for the static shared variables that `entry` may use, which precede the dynamic shared memory.
  /// Variables of other entries get no space. Otherwise, a module with many kernels would have addresses of more than
  /// 18 bits, which a descriptor of wgmma cannot contain.
  void reserveDynamic(const FunctionSyntax &entry) {
    uint64_t end = kSharedBase;
    auto count = [&](const std::vector<Variable> &variables) {
      for (const Variable &variable : variables)
        if (variable.space == Space::Shared)
          end += variable.bytes + 2 * std::max<uint64_t>(variable.align, 128) + 256;
    };
    count(syntax.variables);
    for (const FunctionSyntax &function : syntax.functions)
      if (!function.entry || &function == &entry)
        count(function.variables);
    dynamicBase = aligned(end, 1024);
  }
  void placeDynamic(uint64_t bytes) {
    code->shared.push_back({"dynamic shared memory", dynamicBase, bytes});
    code->staticShared = aligned(code->staticShared, dynamicAlign) + bytes;
    code->sharedBytes = dynamicBase + bytes;
  }

  uint32_t enlist(const FunctionSyntax &syntaxOf) {
    for (uint32_t i = 0; i < code->functions.size(); ++i)
      if (code->functions[i].syntax == &syntaxOf)
        return i;
    CodeFunction made;
    made.syntax = &syntaxOf;
    made.frameBytes = 16; // the first 16 bytes are unused, so that no variable has the address 0
    for (const RegisterName &name : syntaxOf.registers) {
      made.rowOf.push_back(made.rows);
      made.rows += name.bits == 64 ? 2 : name.bits == 128 ? 4 : 1;
    }
    for (const Variable &variable : syntaxOf.variables) {
      uint64_t address = 0;
      if (variable.space == Space::Shared)
        placeShared(variable, address);
      else if (variable.space == Space::Param && syntaxOf.entry && variable.role == Variable::Role::Formal) {
        address = aligned(code->parameterBytes, variable.align);
        code->parameterBytes = address + variable.bytes;
        code->parameters.push_back(variable);
        code->parameterOffsets.push_back(address);
      } else {
        address = aligned(made.frameBytes, std::max<uint64_t>(variable.align, 8));
        made.frameBytes = address + variable.bytes;
      }
      made.addresses.push_back(address);
    }
    made.frameBytes = aligned(made.frameBytes, 16);
    code->functions.push_back(std::move(made));
    return uint32_t(code->functions.size() - 1);
  }

  //===--- operands ---===//
  uint32_t constant(uint64_t bits, bool wide) {
    auto [entry, fresh] = constants.try_emplace({bits, wide}, uint32_t(code->pool.size() / kLanes));
    if (fresh) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        code->pool.push_back(uint32_t(bits));
        if (wide)
          code->pool.push_back(uint32_t(bits >> 32));
      }
    }
    return entry->second | kPool;
  }
  uint32_t temporary(bool wide) {
    uint32_t row = current->rows;
    current->rows += wide ? 2 : 1;
    return row;
  }
  /// Returns the value of a variable's name, which is the address of the variable in its state space.
  uint64_t addressOf(const Statement &at, const Term &term, Space *space = nullptr) {
    const Variable &variable =
        term.kind == Term::Kind::Local ? current->syntax->variables[term.index] : syntax.variables[term.index];
    if (space)
      *space = variable.space;
    if (term.kind == Term::Kind::Local) {
      uint64_t address = current->addresses[term.index];
      return (address == ~uint64_t(0) ? dynamicBase : address) + term.bits;
    }
    if (variable.space == Space::Shared) {
      auto [entry, fresh] = moduleShared.try_emplace(term.index, 0);
      if (fresh)
        placeShared(variable, entry->second);
      return (entry->second == ~uint64_t(0) ? dynamicBase : entry->second) + term.bits;
    }
    if (!globals[term.index])
      fail(at, "the variable '" + variable.name + "' is not defined in this module");
    return globals[term.index] + term.bits;
  }
  /// Returns the rank bits of the variable's address. These are kOwnBlock for a shared variable, if the kernel has
  /// .reqnctapercluster of more than one block. Otherwise, they are 0.
  uint64_t ownBlock(const Term &term) const {
    const Variable &variable =
        term.kind == Term::Kind::Local ? current->syntax->variables[term.index] : syntax.variables[term.index];
    const std::vector<uint32_t> &cluster = code->functions[0].syntax->requiredCluster;
    bool several = std::ranges::any_of(cluster, [](uint32_t side) { return side > 1; });
    return variable.space == Space::Shared && several ? uint64_t(kOwnBlock) << kRankShift : 0;
  }
  bool isFrame(const Term &term) const {
    if (term.kind != Term::Kind::Local)
      return false;
    const Variable &variable = current->syntax->variables[term.index];
    return variable.space == Space::Local ||
           (variable.space == Space::Param && !(current->syntax->entry && variable.role == Variable::Role::Formal));
  }

  uint32_t value(const Statement &at, const Term &term, char letter) {
    unsigned bits = letter == 'p'                                                      ? 1
                    : letter == 'h'                                                    ? 16
                    : letter == 'w' || letter == 'f' || letter == 'n' || letter == 'v' ? 32
                    : letter == 'q'                                                    ? 128
                                                                                       : 64;
    switch (term.kind) {
    case Term::Kind::Sink:
      return kNoRow;
    case Term::Kind::Register: {
      const RegisterName &name = current->syntax->registers[term.index];
      bool narrow = letter == 'n' && name.bits == 64;
      bool fits =
          letter == 'x' || letter == 'n' || name.bits == bits || (letter == 'v' && name.bits <= 32 && name.bits > 1);
      if (!fits)
        fail(at, at.opcode + ": the register " + name.name + " has " + std::to_string(name.bits) + " bits, expected " +
                     std::to_string(bits));
      uint32_t row = current->rowOf[term.index];
      if (narrow) { // the operand uses only the low bits of the register
        uint32_t low = temporary(false);
        Instr in;
        in.run = lowWord;
        in.flags = FlagMove;
        emit(in, at, {low}, {row});
        return low;
      }
      if (!term.negated)
        return row;
      if (letter != 'p')
        fail(at, at.opcode + ": only a predicate can be negated");
      uint32_t inverse = temporary(false);
      Instr invert;
      invert.run = invertPredicate;
      emit(invert, at, {inverse}, {row});
      return inverse;
    }
    case Term::Kind::Integer:
    case Term::Kind::Float32:
    case Term::Kind::Float64: {
      uint64_t number = term.bits;
      if (term.kind == Term::Kind::Float64 && (letter == 'f' || letter == 'n'))
        number = std::bit_cast<uint32_t>(float(std::bit_cast<double>(term.bits)));
      else if (term.kind == Term::Kind::Float32 && letter == 'g')
        number = std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(term.bits))));
      else if (term.kind == Term::Kind::Float64 && (letter == 'w' || letter == 'h'))
        fail(at, at.opcode + ": a double, but the instruction expects " + std::to_string(bits) + " bits");
      return constant(bits == 1    ? number & 1
                      : bits == 16 ? number & 0xffff
                      : bits == 32 ? number & 0xffffffff
                                   : number,
                      bits == 64);
    }
    case Term::Kind::Local:
    case Term::Kind::Global:
      if (isFrame(term)) {
        uint32_t row = temporary(true);
        Instr in;
        in.run = frameAddress;
        in.offset = int64_t(addressOf(at, term));
        emit(in, at, {row}, {});
        return row;
      }
      return constant(addressOf(at, term) | ownBlock(term), bits == 64);
    default:
      fail(at, at.opcode + ": this kind of operand is not allowed here");
    }
  }

  /// Decodes a memory operand to two values: the row of its base register, and a flag that is true if the base has 64
  /// bits. An access in .param space to a variable in the frame becomes an access in .local space.
  void memory(const Statement &at, const Term &term, Instr &in, std::vector<uint32_t> &sources,
              std::vector<uint32_t> &marks) {
    if (term.kind != Term::Kind::Address || term.parts.size() != 1)
      fail(at, at.opcode + ": expected an address [base+offset]");
    const Term &base = term.parts[0];
    (marks.empty() ? in.offset : marks.size() == 1 ? in.secondOffset : in.thirdOffset) = int64_t(term.bits);
    if (base.kind == Term::Kind::Register) {
      uint8_t bits = current->syntax->registers[base.index].bits;
      if (bits != 32 && bits != 64)
        fail(at, at.opcode + ": an address has 32 or 64 bits");
      sources.push_back(current->rowOf[base.index]);
      marks.push_back(bits == 64);
      return;
    }
    if (in.space == Space::Param && isFrame(base))
      in.space = Space::Local;
    sources.push_back(base.kind == Term::Kind::Integer ? constant(base.bits, true) : value(at, base, 'd'));
    marks.push_back(1);
  }

  /// Decodes [map, {c0, c1}] to the row of the map's address, then the rows of the coordinates.
  void tensorCoordinates(const Statement &at, const Term &term, unsigned coordinates, Instr &in,
                         std::vector<uint32_t> &sources, std::vector<uint32_t> &marks) {
    if (term.kind != Term::Kind::Address || term.parts.size() != 2 || term.parts[1].kind != Term::Kind::Vector ||
        term.parts[1].parts.size() != coordinates)
      fail(at, at.opcode + ": expected [map, {" + std::to_string(coordinates) + " coordinates}]");
    Term base = term;
    base.parts.resize(1);
    memory(at, base, in, sources, marks);
    for (const Term &part : term.parts[1].parts)
      sources.push_back(value(at, part, 'w'));
  }

  //===--- instructions ---===//
  void emit(Instr in, const Statement &at, const std::vector<uint32_t> &results, const std::vector<uint32_t> &sources,
            const std::vector<uint32_t> &last = {}) {
    in.operands = uint32_t(code->operands.size());
    in.results = uint8_t(results.size());
    in.sources = uint8_t(sources.size());
    in.statement = statementIndex;
    in.usedBytes = at.usedBytes;
    in.function = functionIndex;
    code->operands.insert(code->operands.end(), results.begin(), results.end());
    code->operands.insert(code->operands.end(), sources.begin(), sources.end());
    code->operands.insert(code->operands.end(), last.begin(), last.end());
    code->instrs.push_back(in);
  }

  void decodeFunction(uint32_t index) {
    functionIndex = index;
    // Work on a copy, because enlist() may reallocate code->functions.
    CodeFunction working = code->functions[index];
    current = &working;
    working.entry = uint32_t(code->instrs.size());
    const FunctionSyntax &function = *working.syntax;
    std::vector<uint32_t> starts;
    size_t firstInstr = code->instrs.size(), firstTable = code->tables.size();
    for (statementIndex = 0; statementIndex < function.body.size(); ++statementIndex) {
      starts.push_back(uint32_t(code->instrs.size()));
      decodeStatement(function.body[statementIndex]);
    }
    starts.push_back(uint32_t(code->instrs.size()));
    Instr end; // emit an implicit ret, because a function may end without a ret
    end.run = leaveFunction;
    end.flags = FlagControl;
    statementIndex = function.body.empty() ? 0 : uint32_t(function.body.size() - 1);
    if (function.body.empty()) {
      error = syntax.file + ":" + std::to_string(function.line) + ": the function '" + function.name + "' is empty";
      throw Undecodable();
    }
    emit(end, function.body.back(), {}, {});
    for (size_t i = firstInstr; i < code->instrs.size(); ++i)
      if (code->instrs[i].run == branch)
        code->instrs[i].target = starts[code->instrs[i].target];
    for (size_t i = firstTable; i < code->tables.size(); ++i)
      for (uint32_t &target : code->tables[i])
        target = starts[target];
    current = nullptr;
    code->functions[index] = std::move(working);
  }

  void decodeStatement(const Statement &at) {
    uint32_t guard = at.guard < 0 ? kNoRow : value(at, registerTerm(uint32_t(at.guard)), 'p');
    const Form *form = table().find(at.opcode);
    // A wgmma with A in registers has the same opcode as one with A in shared memory, but other operands.
    if (form && form->flags & FlagMatrix && at.terms.size() > 1 && at.terms[1].kind == Term::Kind::Vector)
      form = table().find(at.opcode + kRegistersForm);
    if (!form)
      fail(at, "unknown instruction '" + at.opcode + "'");
    Instr in;
    in.run = form->run;
    in.guard = guard;
    in.guardNegated = at.guardNegated;
    in.mods = form->mods;
    in.flags = form->flags;
    in.space = form->space;
    in.bytes = form->bytes;
    in.count = form->count;
    in.isSigned = form->isSigned;
    code->hasMatrixJobs |= (in.flags & FlagMatrix) != 0;
    if (form->signature == "branch") {
      if (at.terms.size() != 1 || at.terms[0].kind != Term::Kind::Label)
        fail(at, at.opcode + ": expected a label");
      in.target = at.terms[0].index;
      return emit(in, at, {}, {});
    }
    if (form->signature == "table")
      return decodeTable(at, in);
    if (form->signature == "call")
      return decodeCall(at, in);
    if (form->signature == "move")
      return decodeMove(at, in);
    decodeSigned(at, in, form->signature);
  }
  static Term registerTerm(uint32_t index) {
    Term term;
    term.kind = Term::Kind::Register;
    term.index = index;
    return term;
  }

  void decodeSigned(const Statement &at, Instr &in, const std::string &signature) {
    std::vector<uint32_t> results, sources, marks, wides;
    size_t term = 0;
    bool inSources = signature.find('=') == std::string::npos, optional = false;
    for (size_t i = 0; i < signature.size(); ++i) {
      char letter = signature[i];
      if (letter == '=') {
        inSources = true;
        continue;
      }
      if (letter == '?') {
        optional = true;
        continue;
      }
      if (letter == 'W') { // the operand may be missing in the middle of the list
        if (at.terms.size() - term <= signature.size() - i - 1)
          continue;
        letter = 'w';
      }
      unsigned lanes = 0;
      for (; isdigit(uint8_t(letter)); letter = signature[++i])
        lanes = lanes * 10 + unsigned(letter - '0');
      if (term == at.terms.size()) {
        if (optional)
          break;
        fail(at, at.opcode + ": too few operands");
      }
      const Term &given = at.terms[term++];
      bool pair = i + 1 < signature.size() && signature[i + 1] == '|';
      i += pair;
      auto &list = inSources ? sources : results;
      if (letter == 'm')
        memory(at, given, in, sources, marks);
      else if (letter == 't')
        tensorCoordinates(at, given, lanes, in, sources, marks);
      else if (lanes) {
        if (given.kind != Term::Kind::Vector || given.parts.size() != lanes)
          fail(at, at.opcode + ": expected a vector of " + std::to_string(lanes) + " operands");
        for (const Term &part : given.parts) {
          list.push_back(value(at, part, letter));
          wides.push_back(isWide(part));
        }
      } else if (pair && given.kind == Term::Kind::Pair) {
        list.push_back(value(at, given.parts[0], letter));
        list.push_back(value(at, given.parts[1], 'p'));
      } else {
        if (given.kind == Term::Kind::Vector && given.parts.size() == 1)
          list.push_back(value(at, given.parts[0], letter));
        else
          list.push_back(value(at, given, letter));
        wides.push_back(isWide(given.kind == Term::Kind::Vector ? given.parts[0] : given));
        if (pair)
          list.push_back(kNoRow);
      }
    }
    if (term != at.terms.size())
      fail(at, at.opcode + ": too many operands");
    for (uint32_t row : sources)
      if (row == kNoRow)
        fail(at, at.opcode + ": '_' where a value is expected");
    // If the first result, or any result of a vector, is the sink `_`, assign an unused row to it.
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i] == kNoRow && (i == 0 || in.count > 1))
        results[i] = temporary(true);
    // Flags follow the operands. There is one flag for each memory operand, which is true if its base has 64 bits. If
    // the signature has results of any width (x), there is also one flag for each result, which is true if the result
    // has 64 bits.
    if (signature.find('x') != std::string::npos)
      marks.insert(marks.end(), wides.begin(), wides.end());
    emit(in, at, results, sources, marks);
  }
  bool isWide(const Term &term) const {
    return term.kind == Term::Kind::Register && current->syntax->registers[term.index].bits == 64;
  }

  void decodeTable(const Statement &at, Instr &in) {
    if (at.terms.size() != 2 || at.terms[1].kind != Term::Kind::Name ||
        !current->syntax->tables.count(at.terms[1].name))
      fail(at, at.opcode + ": expected an index and a table of labels");
    in.target = uint32_t(code->tables.size());
    code->tables.push_back(current->syntax->tables.at(at.terms[1].name));
    emit(in, at, {}, {value(at, at.terms[0], 'w')});
  }

  /// Decodes mov, which copies a value, a variable's address or a special register, or packs or unpacks a vector.
  void decodeMove(const Statement &at, Instr &in) {
    if (at.terms.size() != 2)
      fail(at, at.opcode + ": expected two operands");
    const Term &to = at.terms[0], &from = at.terms[1];
    unsigned bits = in.bytes * 8u;
    char letter = bits == 0 || bits == 8 ? 'p' : bits == 16 ? 'h' : bits == 32 ? 'w' : bits == 64 ? 'd' : 'q';
    if (from.kind == Term::Kind::Name) {
      uint32_t special = specialRegister(from.name);
      if (!special)
        fail(at, "unknown register or function '" + from.name + "'");
      in.target = special;
      in.run = readSpecial;
      return emit(in, at, {value(at, to, letter)}, {});
    }
    auto part = [&](size_t parts) {
      return bits / unsigned(parts) == 16   ? 'h'
             : bits / unsigned(parts) == 32 ? 'w'
             : bits / unsigned(parts) == 64 ? 'd'
                                            : 'p';
    };
    std::vector<uint32_t> results, sources;
    if (from.kind == Term::Kind::Vector) {
      for (const Term &piece : from.parts)
        sources.push_back(value(at, piece, part(from.parts.size())));
      in.run = packVector;
      return emit(in, at, {value(at, to, letter)}, sources);
    }
    if (to.kind == Term::Kind::Vector) {
      for (const Term &piece : to.parts)
        results.push_back(value(at, piece, part(to.parts.size())));
      in.run = unpackVector;
      return emit(in, at, results, {value(at, from, letter)});
    }
    if (at.opcode.back() == '4' || at.opcode.back() == '2') // floats accept decimal immediates
      letter = at.opcode.compare(0, 5, "mov.f") != 0 ? letter : bits == 64 ? 'g' : bits == 32 ? 'f' : letter;
    emit(in, at, {value(at, to, letter)}, {value(at, from, letter)});
  }

  void decodeCall(const Statement &at, Instr &in) {
    std::vector<const Term *> args[2]; // results, arguments
    size_t next = 0;
    if (next < at.terms.size() && at.terms[next].kind == Term::Kind::List) {
      for (const Term &part : at.terms[next].parts)
        args[0].push_back(&part);
      ++next;
    }
    if (next == at.terms.size() || at.terms[next].kind != Term::Kind::Name)
      fail(at, "only calls of functions by name are supported");
    const FunctionSyntax *callee = syntax.find(at.terms[next].name);
    if (!callee)
      fail(at, "the function '" + at.terms[next].name + "' has no body in this module");
    ++next;
    if (next < at.terms.size() && at.terms[next].kind == Term::Kind::List)
      for (const Term &part : at.terms[next].parts)
        args[1].push_back(&part);
    CallSite site;
    site.function = enlist(*callee);
    size_t counts[2] = {0, 0};
    for (size_t i = 0; i < callee->variables.size(); ++i) {
      const Variable &formal = callee->variables[i];
      if (formal.role != Variable::Role::Result && formal.role != Variable::Role::Formal)
        continue;
      bool isArgument = formal.role == Variable::Role::Formal;
      size_t index = counts[isArgument]++;
      if (index >= args[isArgument].size())
        fail(at, "the call of '" + callee->name + "' has too few arguments or results");
      const Term &given = *args[isArgument][index];
      if (!isFrame(given) || current->syntax->variables[given.index].bytes != formal.bytes)
        fail(at, "the call of '" + callee->name + "': '" + formal.name + "' expects a .param variable of " +
                     std::to_string(formal.bytes) + " bytes");
      auto &list = isArgument ? site.in : site.out;
      list.push_back(
          {current->addresses[given.index], code->functions[site.function].addresses[i], uint32_t(formal.bytes)});
    }
    if (counts[0] != args[0].size() || counts[1] != args[1].size())
      fail(at, "the call of '" + callee->name + "' has too many arguments or results");
    in.target = uint32_t(code->calls.size());
    code->calls.push_back(std::move(site));
    emit(in, at, {}, {});
  }

  const Syntax &syntax;
  const GlobalAddresses &globals;
  std::string &error;
  std::unique_ptr<Code> code;
  CodeFunction *current = nullptr;
  uint32_t functionIndex = 0, statementIndex = 0;
  uint64_t sharedTop = 0, dynamicAlign = 1, dynamicBase = 0;
  std::map<std::pair<uint64_t, bool>, uint32_t> constants;
  std::map<uint32_t, uint64_t> moduleShared;
};

} // namespace

std::unique_ptr<Code> decode(const Syntax &syntax, const std::string &kernel, const GlobalAddresses &globals,
                             uint64_t dynamicShared, std::string &error) {
  return Decoder(syntax, globals, error).run(kernel, dynamicShared);
}

} // namespace tilewright::ptx
