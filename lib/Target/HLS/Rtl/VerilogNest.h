//===- VerilogNest.h - the text of one pipelined nest ---------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_RTL_VERILOGNEST_H
#define TILEWRIGHT_TARGET_HLS_RTL_VERILOGNEST_H

#include "lib/Target/HLS/Rtl/BankPorts.h"
#include "lib/Target/HLS/Rtl/RtlParts.h"
#include <map>

namespace tilewright::hls {

/// Something that a nest asks of an array's bank in one stage.
struct BankRead {
  size_t port = 0;             ///< of the bank, among those of its kind
  std::string enable, address; ///< expressions
  std::string data;            ///< the wire that carries the element, a cycle later
};
struct BankWrite {
  size_t port = 0;
  int64_t words = 1; ///< how many it ever writes
  std::string enable, address, data;
};

/// An array as Verilog has it: so many memories of `words` words of `width` bits.
struct RtlArray {
  std::string name;
  mlir::MemRefType type;
  mlir::ElementsAttr value;           ///< of a ROM
  std::vector<int64_t> banks, inBank; ///< per dimension
  bool bypassed = false;              ///< a read may come in the cycle of the write of the same element
  /// By nest, by bank: what it asks for.
  std::vector<std::map<int64_t, std::vector<BankRead>>> reads;
  std::vector<std::map<int64_t, std::vector<BankWrite>>> writes;

  unsigned width() const;
  int64_t words() const;
  int64_t count() const; ///< of banks
  bool inBlocks() const; ///< as the estimate has it
  bool inRegisters() const { return memoryOf(type) == Memory::Register; }
  bool isConstants() const { return value && inRegisters() && words() == 1; } ///< a word of a ROM each
  std::string bank(int64_t number) const { return count() == 1 ? name : name + "_" + std::to_string(number); }
};

/// A queue: wires NAME_head, NAME_empty, NAME_full; what takes and puts.
struct RtlQueue {
  std::string name, take = "1'b0", put = "1'b0", value = "0";
  unsigned width = 0;
  int64_t depth = 0;
  bool inBlocks = false;
};

/// A port of the design, read or written by one nest, `lanes` elements side by side from `address` on.
struct RtlPort {
  std::string name, enable, address;
  std::vector<std::string> data; ///< of an output: the lanes' values
  unsigned width = 0;
  int64_t lanes = 0;
  bool isOutput = false;
};

/// Finds what a memref or stream of a task is.
struct RtlWorld {
  llvm::DenseMap<mlir::Value, RtlArray *> arrays;
  llvm::DenseMap<mlir::Value, RtlQueue *> queues;
  llvm::DenseMap<mlir::Value, RtlPort *> ports;
};

/// Verilog wants names declared before they are used, so declarations are kept apart.
struct RtlText {
  std::string declarations, logic;
  RtlParts parts;
};

/// Declares and computes everything of `nest` under names that begin with `prefix`. It begins in the cycle behind
/// PREFIX_start and says PREFIX_done two cycles behind its last stage, as nestCycles() counts.
void printNest(const PipelineNest &nest, llvm::StringRef prefix, RtlWorld &world, RtlText &text,
               std::vector<std::string> &problems);

} // namespace tilewright::hls

#endif
