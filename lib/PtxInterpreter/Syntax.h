//===- Syntax.h - a PTX module as written, with resolved names ---------------------===//
//
// The parser returns a list of functions with their registers, variables and statements. It resolves the names of
// registers, variables and labels to indices. The parser does not check instructions; Decode.cpp does.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_SYNTAX_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_SYNTAX_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright::ptx {

/// The state spaces. Cluster is .shared::cluster, the shared memory of any block of the cluster.
enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param, Cluster };

struct RegisterName {
  std::string name;
  uint8_t bits = 0; ///< 1 (predicate), 8, 16, 32, 64 or 128
};

struct Variable {
  enum class Role : uint8_t { Plain, Formal, Result, CallParam };
  std::string name;
  Space space = Space::Global;
  Role role = Role::Plain;
  uint64_t bytes = 0, align = 1;
  bool unsized = false; ///< true for extern .shared x[], the dynamic shared memory
  std::vector<uint8_t> initial;
  uint32_t line = 0;
};

struct Term {
  enum class Kind : uint8_t {
    Register, ///< `index`
    Integer,  ///< `bits`
    Float32,  ///< `bits`
    Float64,  ///< `bits`
    Local,    ///< a variable of the function: `index`, and an offset in `bits`
    Global,   ///< a variable of the module: `index`, and an offset in `bits`
    Name,     ///< a function, a special register, a label table: `name`
    Label,    ///< `index` of a statement
    Address,  ///< [base + offset, coordinates]: `parts[0]`, `bits`, and the other elements of `parts`
    Vector,   ///< {a, b}
    Pair,     ///< p|q
    List,     ///< (a, b)
    Sink,     ///< _
  };
  Kind kind = Kind::Sink;
  bool negated = false; ///< !p
  uint32_t index = 0;
  uint64_t bits = 0;
  std::string name;
  std::vector<Term> parts;
};

struct Statement {
  int32_t guard = -1; ///< index of the register of the guard, or -1
  bool guardNegated = false;
  std::string opcode; ///< "ld.global.v4.b32"
  std::vector<Term> terms;
  uint32_t line = 0, column = 0;
  uint32_t location = 0;    ///< index of the source location in Syntax::locations
  uint32_t usedBytes = ~0u; ///< for a load: .pragma "used_bytes_mask"
};

struct FunctionSyntax {
  std::string name;
  bool entry = false, defined = false;
  std::vector<RegisterName> registers;
  std::vector<Variable> variables; ///< the results, then the formal parameters, then the other variables
  std::vector<Statement> body;
  std::map<std::string, std::vector<uint32_t>> tables; ///< the statements that each .branchtargets lists
  std::vector<uint32_t> requiredThreads, maximalThreads, requiredCluster;
  uint32_t line = 0;
};

struct Syntax {
  std::string file, version, target;
  std::vector<std::string> lines;
  std::vector<std::string> locations = {""}; ///< "model.py:12:3", from .loc and //@tw comments
  std::vector<Variable> variables;
  std::vector<FunctionSyntax> functions;

  const FunctionSyntax *find(const std::string &name) const {
    for (const FunctionSyntax &function : functions)
      if (function.name == name && function.defined)
        return &function;
    return nullptr;
  }
};

/// Parses `text`. If the text is not PTX that the interpreter supports, returns false with "<file>:<line>:<column>:
/// ...".
bool parse(const std::string &text, const std::string &file, Syntax &syntax, std::string &error);

} // namespace tilewright::ptx

#endif
