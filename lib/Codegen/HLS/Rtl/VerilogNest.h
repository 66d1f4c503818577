//===- VerilogNest.h - print one pipelined nest as Verilog ----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGNEST_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGNEST_H

#include "lib/Codegen/HLS/Rtl/BankPorts.h"
#include "lib/Codegen/HLS/Rtl/RtlParts.h"
#include <map>

namespace tilewright::hls {

/// A read of an array's bank by one step of a nest.
struct BankRead {
  size_t port = 0;             ///< number of the port among the bank's read ports
  std::string enable, address; ///< expressions
  std::string data; ///< wire that has the element one cycle later, or immediately if the bank is in registers
};
struct BankWrite {
  size_t port = 0;
  int64_t words = 1; ///< number of words that the request can write
  std::string enable, address, data;
};

/// An array in Verilog: `count` memories of `words` words of `width` bits.
struct RtlArray {
  std::string name;
  mlir::MemRefType type;
  mlir::ElementsAttr value;           ///< elements of a ROM
  std::vector<int64_t> banks, inBank; ///< banks and words per bank, for each dimension
  bool bypassed = false;              ///< a read may be in the cycle in which the same element is written
  /// The reads and writes, indexed by nest and by bank.
  std::vector<std::map<int64_t, std::vector<BankRead>>> reads;
  std::vector<std::map<int64_t, std::vector<BankWrite>>> writes;

  unsigned width() const;
  int64_t words() const;
  int64_t count() const; ///< number of banks
  bool inBlocks() const; ///< true if the estimate uses block memories
  bool inRegisters() const { return memoryOf(type) == Memory::Register; }
  bool isConstants() const { return value && inRegisters() && words() == 1; } ///< each bank is one word of a ROM
  std::string bank(int64_t number) const { return count() == 1 ? name : name + "_" + std::to_string(number); }
};

/// A queue has wires NAME_head, NAME_empty and NAME_full; `take` and `put` are the conditions of its accesses.
struct RtlQueue {
  std::string name, take = "1'b0", put = "1'b0", value = "0";
  unsigned width = 0;
  int64_t depth = 0;
  bool inBlocks = false;
};

/// A port of the design, which one nest reads or writes. In one cycle, it transfers `lanes` adjacent elements,
/// beginning with the element at `address`.
struct RtlPort {
  std::string name, enable, address;
  std::vector<std::string> data; ///< values of the lanes of an output
  unsigned width = 0;
  int64_t lanes = 0;
  bool isOutput = false;
};

/// Maps the memrefs and streams of a task's function to the arrays, queues and ports of the design.
struct RtlContext {
  llvm::DenseMap<mlir::Value, RtlArray *> arrays;
  llvm::DenseMap<mlir::Value, RtlQueue *> queues;
  llvm::DenseMap<mlir::Value, RtlPort *> ports;
};

/// The text of a module. Declarations are collected separately from logic, because Verilog requires that names are
/// declared before their use.
struct RtlText {
  std::string declarations, logic;
  RtlParts parts;
};

/// Prints the declarations and logic of `nest`, with names that begin with `prefix`. The nest begins in the cycle after
/// PREFIX_start is set, and sets PREFIX_done two cycles after its last stage, as nestCycles() (Cost.h) assumes.
void printNest(const PipelineNest &nest, llvm::StringRef prefix, RtlContext &context, RtlText &text,
               std::vector<std::string> &problems);

} // namespace tilewright::hls

#endif
