//===- Code.h - a kernel decoded for execution -------------------------------------===//
//
// The instructions of a kernel and of all functions that it calls are stored in one array. A register of at most 32
// bits is a row of 32 lanes; a 64-bit register has two rows, and a 128-bit register has four. Immediate operands are
// rows of a constant pool, so that handlers read them in the same way as registers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_CODE_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_CODE_H

#include "lib/PtxInterpreter/Syntax.h"

#include <memory>
#include <unordered_map>

namespace tilewright::ptx {

struct Exec;
struct Instr;
/// Executes an instruction for the lanes in Exec::mask.
using Handler = void (*)(Exec &, const Instr &);

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kPool = 0x80000000u;  ///< flag of an operand: the operand is a row of the constant pool
inline constexpr uint32_t kNoRow = 0xffffffffu; ///< the operand is a sink, so no row is written

/// Modifiers of instructions, as bits.
enum Mod : uint32_t {
  ModRound = 7, ///< a Round
  ModFtz = 8,
  ModSat = 16,
  ModRelu = 32,
  ModFinite = 64,
  ModNan = 128,
  ModXorSign = 256,
  ModAbs = 512,
  ModHigh = 1024,   ///< .trans of ldmatrix and stmatrix; in cvt: round to an integral value
  ModStrong = 2048, ///< .volatile, .relaxed, .acquire, .release: no race with another strong access
  ModAcquire = 4096,
  ModRelease = 8192,
  ModUser = 16384, ///< the first of the bits that each instruction form uses in its own way
};

enum Flag : uint8_t {
  FlagControl = 1, ///< the instruction sets the program counter itself
  FlagAligned = 2, ///< all threads of the warp must execute the instruction together
  FlagMember = 4,  ///< all lanes of the member mask (the last source) must execute the instruction together
  FlagMove = 8,    ///< the instruction copies uninitialized values without an error
  FlagMatrix = 16, ///< wgmma: the instruction may use registers of products in flight
};

struct Instr {
  Handler run = nullptr;
  /// Index in Code::operands of the first operand; the order is: results, sources, flags of decodeSigned().
  uint32_t operands = 0;
  uint8_t results = 0, sources = 0;
  uint8_t flags = 0;
  Space space = Space::Generic;
  uint32_t mods = 0;
  uint32_t guard = kNoRow;
  bool guardNegated = false, isSigned = false;
  uint8_t bytes = 0;                                     ///< bytes of an element in memory
  uint8_t count = 1;                                     ///< number of elements
  uint32_t usedBytes = ~0u;                              ///< for a load: bit i is set if byte i is used
  int64_t offset = 0, secondOffset = 0, thirdOffset = 0; ///< offsets added to the addresses of the memory operands
  uint32_t target = 0; ///< number of a program counter, a table, a call or a special register
  uint32_t statement = 0, function = 0;
};

struct CodeFunction {
  const FunctionSyntax *syntax = nullptr;
  uint32_t entry = 0, rows = 0;
  uint64_t frameBytes = 0;         ///< bytes of local memory for the variables and parameters of a call
  std::vector<uint64_t> addresses; ///< address of each variable in its space
  std::vector<uint32_t> rowOf;     ///< first row of each register
};

/// The copies of parameters between the frames of the caller and the callee of a call instruction.
struct CallSite {
  struct Copy {
    uint64_t caller, callee;
    uint32_t bytes;
  };
  uint32_t function = 0;
  std::vector<Copy> in, out;
};

struct SharedObject {
  std::string name;
  uint64_t begin = 0, bytes = 0;
};

struct Code {
  const Syntax *syntax = nullptr;
  std::string kernel;
  std::vector<Instr> instrs;
  std::vector<uint32_t> operands;
  std::vector<uint32_t> pool;          ///< rows of 32 words
  std::vector<CodeFunction> functions; ///< the first function is the kernel
  std::vector<CallSite> calls;
  std::vector<std::vector<uint32_t>> tables; ///< for each .branchtargets: the program counters of the targets
  std::vector<SharedObject> shared;          ///< sorted by address; the dynamic shared memory is the last
  /// Total size with the gaps between the objects; size of the static objects without gaps.
  uint64_t sharedBytes = 0, staticShared = 0;
  uint64_t parameterBytes = 0;
  bool hasMatrixJobs = false; ///< true if the kernel has wgmma instructions
  std::vector<Variable> parameters;
  std::vector<uint64_t> parameterOffsets;

  const Statement &statement(uint32_t pc) const {
    const Instr &in = instrs[pc];
    return functions[in.function].syntax->body[in.statement];
  }
};

/// The addresses of the .global and .const variables, indexed like Syntax::variables.
using GlobalAddresses = std::vector<uint64_t>;

/// Decodes a kernel. Returns null, with the reason in `error`, if there is no kernel with this name, or if the kernel
/// contains an unsupported instruction or name.
std::unique_ptr<Code> decode(const Syntax &syntax, const std::string &kernel, const GlobalAddresses &globals,
                             uint64_t dynamicShared, std::string &error);

} // namespace tilewright::ptx

#endif
