//===- VerilogBench.cpp - the test bench of a design in Verilog ------------------------------===//
//
// The test bench models the ports of the design as memories. The memory of an input returns one element, or several
// adjacent elements, one cycle after the request. The memory of an output stores the elements of a request.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/VerilogBench.h"
#include "lib/Codegen/HLS/PrintCpp.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Prints Verilog that reads a file of little-endian integers into the memory `into`.
void readFile(raw_ostream &out, const std::string &into, const std::string &file, int64_t elements, int64_t bytes) {
  out << "    file = $fopen(\"../data/" << file
      << "\", \"rb\");\n    if (file == 0) begin $display(\"FAIL: no file ../data/" << file
      << "\"); $finish; end\n    got = $fread(" << into
      << "_bytes, file);\n    $fclose(file);\n    if (got != " << elements * bytes
      << ") begin $display(\"FAIL: ../data/" << file << " has %0d bytes, not " << elements * bytes
      << "\", got); $finish; end\n    for (i = 0; i < " << elements << "; i = i + 1) " << into << "[i] = {";
  for (int64_t byte = bytes; byte-- > 0;)
    out << into << "_bytes[i * " << bytes << " + " << byte << "]" << (byte ? ", " : "");
  out << "};\n";
}

} // namespace

std::string printVerilogBench(func::FuncOp top, const std::vector<std::unique_ptr<RtlPort>> &ports) {
  std::string declarations, start, checks, connections, memories;
  llvm::raw_string_ostream names(declarations), reads(start), compares(checks), connects(connections),
      behaves(memories);
  int64_t inputs = 0, outputs = 0;
  for (auto [number, port] : llvm::enumerate(portsOf(top))) {
    const RtlPort &its = *ports[number];
    const int64_t count = std::max<int64_t>(1, port.memory.getNumElements()),
                  bytes = std::max<int64_t>(1, llvm::PowerOf2Ceil(its.width) / 8);
    const std::string &name = its.name, word = "[" + std::to_string(its.width - 1) + ":0]";
    const std::string file =
        (port.isOutput ? "output_" + std::to_string(outputs++) : "input_" + std::to_string(inputs++)) + ".bin";
    if (its.lanes == 0 && !port.isOutput)
      continue;
    names << "  reg " << word << " " << name << "_memory [0:" << count - 1 << "];\n";
    const std::string filled = port.isOutput ? name + "_expected" : name + "_memory";
    if (port.isOutput)
      names << "  reg " << word << " " << filled << " [0:" << count - 1 << "];\n";
    names << "  reg [7:0] " << filled << "_bytes [0:" << count * bytes - 1 << "];\n";
    readFile(reads, filled, file, count, bytes);
    if (port.isOutput)
      compares << "      for (i = 0; i < " << count << "; i = i + 1)\n        if (" << name << "_memory[i] !== " << name
               << "_expected[i]) begin\n          if (wrong < 10) $display(\"" << name << "[%0d] is %0h, not %0h\", i, "
               << name << "_memory[i], " << name << "_expected[i]);\n          wrong = wrong + 1;\n        end\n";
    if (its.lanes == 0)
      continue;
    const std::string bus = "[" + std::to_string(its.lanes * its.width - 1) + ":0]";
    names << "  wire " << name << "_on;\n  wire [31:0] " << name << "_at;\n  " << (port.isOutput ? "wire " : "reg ")
          << bus << " " << name << "_data;\n";
    connects << ",\n    ." << name << "_on(" << name << "_on), ." << name << "_at(" << name << "_at), ." << name
             << "_data(" << name << "_data)";
    behaves << "  always @(posedge clk) if (" << name << "_on) begin\n";
    for (int64_t lane = 0; lane < its.lanes; ++lane) {
      const std::string part =
          name + "_data[" + std::to_string(lane * its.width) + " +: " + std::to_string(its.width) + "]";
      const std::string element = name + "_memory[" + name + "_at + " + std::to_string(lane) + "]";
      behaves << "    " << (port.isOutput ? element + " <= " + part : part + " <= " + element) << ";\n";
    }
    behaves << "  end\n";
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// Made by Tilewright: tilewright compile --target=hls --rtl.\n`timescale 1ns / 1ps\nmodule test_bench;\n  "
         "reg clk = 0, "
         "reset = 1, start = 0;\n  wire done;\n  integer i, file, got, cycles, wrong;\n"
      << declarations << "  model dut (\n    .clk(clk), .reset(reset), .start(start), .done(done)" << connections
      << ");\n  always #1.665 clk = ~clk;\n"
      << memories << "  initial begin\n    wrong = 0;\n    cycles = 0;\n"
      << start
      << "    repeat (4) @(negedge clk);\n    reset = 0;\n    @(negedge clk);\n    start = 1;\n    #0.5;\n"
         "    while (!done && cycles < 100000000) begin\n      @(negedge clk);\n      start = 0;\n      cycles = "
         "cycles + 1;\n"
         "      #0.5;\n    end\n    @(negedge clk);\n    if (cycles >= 100000000) $display(\"FAIL: no end after %0d "
         "cycles\", cycles);\n"
         "    else begin\n"
      << checks
      << "      $display(\"cycles %0d\", cycles);\n      if (wrong == 0) $display(\"PASS\");\n      else "
         "$display(\"FAIL: %0d elements are "
         "wrong\", wrong);\n    end\n    $finish;\n  end\nendmodule\n";
  return text;
}

} // namespace tilewright::hls
