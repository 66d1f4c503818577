//===- Plan.h - what the runtime executes ---------------------------------===//
//
// The serialized twin of the tw_plan dialect: buffers, and steps that launch kernels on them. It names no MLIR
// type, so that ahead-of-time libraries and sanitizer builds can read it.
//
// Sizes are expressions over the plan's symbols (s0, s1, ...): a call brings the symbols' values, the runtime
// evaluates the expressions once per set of values and keeps the result.
//
//   plan {
//     symbols = 1
//     buffers = [input 0: s0*768*4 bytes, input 1 (static): 768*768*4, packed: 768*768*4, arena: ..., output 0: ...]
//     once    = [launch @pack(1 -> 2)]                  run when the inputs they read have changed
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

/// An integer expression over the plan's symbols, as a postfix program.
/// Division and modulus are floor division and its modulus; a divisor of zero is an error of the call.
struct Expr {
  enum class Op : uint8_t { Const, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Max, Min };
  struct Item {
    Op op;
    int64_t value = 0; ///< the constant, or the symbol's number
  };
  std::vector<Item> items;

  /// The deepest stack a program may need; verify() refuses more.
  static constexpr int maxDepth = 64;

  static Expr constant(int64_t value) { return {{{Op::Const, value}}}; }
  static Expr symbol(int64_t index) { return {{{Op::Symbol, index}}}; }
  bool isConstant() const { return items.size() == 1 && items[0].op == Op::Const; }
  /// True when the value depends on no symbol.
  bool isSymbolFree() const {
    for (const Item &item : items)
      if (item.op == Op::Symbol)
        return false;
    return true;
  }
};

struct Buffer {
  enum class Kind : uint8_t {
    Input,    ///< a tensor of the caller; `index` is its number
    Output,   ///< a tensor the caller made; `index` is its number
    Arena,    ///< scratch memory of one call, alive from its first to its last use in `steps`
    Packed,   ///< made by a `once` step, kept between calls
    Constant, ///< bytes of the plan itself: `index` is the offset in Plan::constants
  };
  Kind kind = Kind::Arena;
  int64_t index = 0;
  Expr bytes;
  bool inPlace = false; ///< an Input that steps may write (the caller wants the mutation)
};

/// A buffer operand of a step: a buffer and the byte offset where the operand starts in it.
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
  int32_t callee = 0;            ///< index into Plan::kernels (Launch) or Plan::hostFunctions (Host)
  std::vector<Operand> operands; ///< in the kernel's order
  uint64_t writes = 0;           ///< bit i: operand i is written (i < 64; later ones count as written)
  std::vector<Expr> sizes;       ///< index arguments of the kernel
  Expr grid;                     ///< number of tiles; 1 runs on thread 0 alone
  Expr scratchBytes;             ///< per thread
  Expr bytes;                    ///< of a Copy
  bool checks = false;           ///< a Launch that tells of indices out of range at the start of its scratch
  Expr flops;                    ///< of its contractions, for profiles
  std::string label;             ///< for profiles and error messages: op names
  std::string schedule;          ///< for profiles: the tile sizes
};

/// Whether the step may write its operand `i`. The second operand of a copy always is.
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

/// `lhs` is `rhs`, or at least it, at every call: else the sizes of its tensors do not fit together.
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

/// Every index in range, every Expr well-formed (stack discipline, known symbols), no read of an arena buffer before
/// it is written, no write to an Input unless it is declared inPlace. `once` steps read inputs, constants and packed
/// buffers, write packed buffers and depend on no symbol. Returns an empty string or the error.
std::string verify(const Plan &plan);

/// The same for one expression over `numSymbols` symbols. An empty expression is well-formed and means 0.
std::string verify(const Expr &expr, size_t numSymbols);

/// The one symbol that a size `a * symbol + b` is made of; -1: `expr` is another expression.
int64_t linearSymbol(const Expr &expr);

/// The value of `expr`, or 0 and an error in `error` (non-empty: division by zero, overflow). `expr` is verified, and
/// `symbols` holds a value for each symbol of its plan (may be null when there is none).
int64_t evaluate(const Expr &expr, const int64_t *symbols, std::string &error);

/// An empty string where all guards of `plan` hold for these symbols, or which one does not.
std::string brokenGuard(const Plan &plan, const int64_t *symbols);

/// The bytes of `buffer`, whose size depends on no symbol; -1 with a reason in `error` when that is no possible size.
int64_t fixedBytes(const Buffer &buffer, std::string &error);

/// A self-describing little-endian image with a magic, a version and a trailing hash; no pointers.
std::vector<uint8_t> serialize(const Plan &plan);

/// Reads what serialize() wrote. Anything truncated, foreign or altered gives an error, never a crash.
bool deserialize(const uint8_t *data, size_t size, Plan &plan, std::string &error);

} // namespace tilewright::plan

#endif
