//===- Plan.h - the plan that the runtime executes ------------------------===//
//
// A plan is the serialized counterpart of the tw_plan dialect: buffers, and steps that launch kernels on them. It
// does not depend on MLIR, so that ahead-of-time libraries and builds with sanitizers can use it.
//
// Sizes are expressions over the plan's symbols (s0, s1, ...). A call passes the symbols' values. The runtime
// evaluates the expressions once per set of values and caches the results.
//
//   plan {
//     symbols = 1
//     buffers = [input 0: s0*768*4 bytes, input 1 (static): 768*768*4, packed: 768*768*4, arena: ..., output 0: ...]
//     once    = [launch @pack(1 -> 2)]                  run if the inputs of these steps have changed
//     steps   = [launch @kernel_0(0, 2, 3) sizes [s0] grid (ceildiv(s0, 32) * 16), ...]
//   }
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_PLAN_PLAN_H
#define TILEWRIGHT_LIB_RUNTIME_PLAN_PLAN_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::plan {

/// An integer expression over the plan's symbols, as a postfix program. FloorDiv rounds down, CeilDiv rounds up, and
/// the modulus has the sign of the divisor. A divisor of zero is an error of the call.
struct Expr {
  enum class Op : uint8_t { Const, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Max, Min };
  struct Item {
    Op op;
    int64_t value = 0; ///< the constant, or the symbol's index
  };
  std::vector<Item> items;

  /// The maximum depth of a program's stack; verify() rejects deeper programs.
  static constexpr int maxDepth = 64;

  static Expr constant(int64_t value) { return {{{Op::Const, value}}}; }
  static Expr symbol(int64_t index) { return {{{Op::Symbol, index}}}; }
  bool isConstant() const { return items.size() == 1 && items[0].op == Op::Const; }
  /// Returns true if the value depends on no symbol.
  bool isSymbolFree() const {
    for (const Item &item : items)
      if (item.op == Op::Symbol)
        return false;
    return true;
  }
};

struct Buffer {
  enum class Kind : uint8_t {
    Input,    ///< a tensor of the caller; `index` is its position in the inputs
    Output,   ///< a tensor that the caller allocated; `index` is its position in the outputs
    Arena,    ///< scratch memory of one call, with a lifetime from its first to its last use in `steps`
    Packed,   ///< memory that a `once` step writes, and that is kept between calls
    Constant, ///< bytes stored in the plan: `index` is the offset in Plan::constants
  };
  Kind kind = Kind::Arena;
  int64_t index = 0;
  Expr bytes;
  bool inPlace = false; ///< true for an Input that steps may write, because the model mutates it
};

/// A buffer operand of a step: a buffer and the byte offset of the operand in it.
struct Operand {
  int32_t buffer = 0;
  Expr offset; ///< empty means 0
};

struct Step {
  enum class Kind : uint8_t {
    Launch, ///< run kernel `callee` over `grid` tiles, shared among the threads
    Copy,   ///< copy `bytes` from operands[0] to operands[1]
    Host,   ///< call host function `callee` (looked up by name at load) on thread 0
  };
  Kind kind = Kind::Launch;
  int32_t callee = 0;                ///< index into Plan::kernels (Launch) or Plan::hostFunctions (Host)
  std::vector<Operand> operands;     ///< operands in the kernel's order
  uint64_t writes = 0;               ///< bit i: operand i is written (i < 64; operands from 64 on count as written)
  std::vector<Expr> sizes;           ///< index arguments of the kernel
  Expr grid;                         ///< number of tiles; thread 0 alone executes a single tile
  Expr scratchBytes;                 ///< bytes of scratch memory per thread
  Expr bytes;                        ///< number of bytes of a Copy
  bool checks = false;               ///< true for a Launch that writes failed checks to the start of its scratch
  std::vector<std::string> messages; ///< for a Launch with `checks`: the errors of conditions that do not hold
  Expr flops;                        ///< number of operations of the step's contractions, for profiles
  std::string label;                 ///< names of the ops, for profiles and error messages
  std::string schedule;              ///< the schedule as text, such as the tile sizes, for profiles
};

/// Returns true if the step may write its operand `i`. A copy writes its second operand.
inline bool writesOperand(const Step &step, size_t i) {
  if (step.kind == Step::Kind::Copy)
    return i == 1;
  return i >= 64 || ((step.writes >> i) & 1);
}

struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT64_MAX;
};

/// A condition that each call must satisfy: `lhs` equals `rhs`, or is at least `rhs`.
struct Guard {
  Expr lhs, rhs;
  bool atLeast = false;
  std::string text; ///< "Concat cat_1: n must be 17"
};

struct Plan {
  std::vector<Symbol> symbols;
  std::vector<Guard> guards;
  std::vector<Buffer> buffers;
  std::vector<std::string> kernels; ///< symbol names in the object code
  std::vector<std::string> hostFunctions;
  std::vector<Step> once;
  std::vector<Step> steps;
  std::vector<uint8_t> constants; ///< 64-byte aligned when loaded
  int32_t numInputs = 0;
  int32_t numOutputs = 0;
};

/// Checks that every index is in range, that every Expr is well-formed (stack discipline, known symbols), that no
/// arena, packed or output buffer is read before it is written, and that no Input is written unless it is declared
/// inPlace. `once` steps must read only inputs, constants and packed buffers, must write only packed buffers, and must
/// depend on no symbol. Other steps must not write packed buffers. Returns an empty string or the error.
std::string verify(const Plan &plan);

/// Checks one expression over `numSymbols` symbols in the same way as the plan's expressions. An empty expression is
/// well-formed and means 0.
std::string verify(const Expr &expr, size_t numSymbols);

/// Returns the symbol of a size of the form `a * symbol + b`, or -1 if `expr` has another form.
int64_t linearSymbol(const Expr &expr);

/// Returns the value of `expr`, or 0 with an error in `error` (division by zero, overflow). `expr` must be verified.
/// `symbols` has a value for each symbol of the plan (may be null if there is none).
int64_t evaluate(const Expr &expr, const int64_t *symbols, std::string &error);

/// Returns an empty string if all guards of `plan` hold for these symbols, otherwise a message.
std::string brokenGuard(const Plan &plan, const int64_t *symbols);

/// Returns the size in bytes of `buffer`, which must not depend on symbols, or -1 with a reason in `error`.
int64_t fixedBytes(const Buffer &buffer, std::string &error);

/// Returns a little-endian image with a magic number, a version and a trailing hash (Serialize.cpp).
std::vector<uint8_t> serialize(const Plan &plan);

/// Reads an image that serialize() has written. Truncated, invalid or modified data causes an error, never a crash.
bool deserialize(const uint8_t *data, size_t size, Plan &plan, std::string &error);

} // namespace tilewright::plan

#endif
