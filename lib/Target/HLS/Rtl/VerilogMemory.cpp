//===- VerilogMemory.cpp - the text of memories and queues ----------------------------------===//
//
//   (* ram_style = "block" *) reg [7:0] w_chip_mem_0 [0:383];
//   always @(posedge clk) if (w_chip_mem_0_w0_on) w_chip_mem_0[w_chip_mem_0_w0_at] <= w_chip_mem_0_w0_data;
//   always @(posedge clk) if (w_chip_mem_0_r0_on) w_chip_mem_0_r0_q <= w_chip_mem_0[w_chip_mem_0_r0_at];
//
// A bank is a memory with a port for what is written and a port for what is read, which nests take in turn: what tools
// make block memories and memories of lookup tables of. Which of the two, the estimate has decided.
//
// Tests: test/Target/HLS/rtl.mlir, test/Target/HLS/rtl-banks.mlir, test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HLS/Rtl/VerilogMemory.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

template <typename Requests> std::string either(Requests &requests, auto field) {
  std::string all;
  for (auto &request : requests)
    all += (all.empty() ? "" : " | ") + ("(" + field(request) + ")");
  return all;
}

/// By whose turn it is: the last where it is nobody's; of many, whose turns are never the same, a sum of gates.
template <typename Requests> std::string chosen(Requests &requests, unsigned width, auto field) {
  std::string all;
  if (requests.size() > 2) {
    for (auto &request : requests)
      all += (all.empty() ? "" : " | ") + ("({" + std::to_string(width) + "{" + request.enable + "}} & (" +
                                           field(request) + "))");
    return all;
  }
  for (size_t number = 0; number + 1 < requests.size(); ++number)
    all += "(" + requests[number].enable + ") ? " + field(requests[number]) + " : ";
  return all + field(requests.back());
}

template <typename Request> using Ports = std::vector<std::vector<Request>>;

/// What all nests ask of a bank, by port.
template <typename OfNests> auto portsOfBank(OfNests &ofNests, int64_t bank) {
  Ports<typename OfNests::value_type::mapped_type::value_type> ports;
  for (auto &nest : ofNests)
    if (auto found = nest.find(bank); found != nest.end())
      for (auto &request : found->second) {
        if (ports.size() <= request.port)
          ports.resize(request.port + 1);
        ports[request.port].push_back(request);
      }
  llvm::erase_if(ports, [](auto &requests) { return requests.empty(); }); // a port of other banks
  return ports;
}

StringRef styleOf(bool inBlocks, int64_t words, size_t writePorts) {
  if (inBlocks)
    return "block";
  return words > 1 && writePorts == 1 ? "distributed" : "registers";
}

class MemoryPrinter {
public:
  MemoryPrinter(RtlArray &array, RtlText &text)
      : array(array), addressBits(std::max(1u, llvm::Log2_64_Ceil(uint64_t(array.words())))),
        word("[" + std::to_string(array.width() - 1) + ":0]"), declarations(text.declarations), out(text.logic) {}

  void print() {
    out << "\n";
    for (int64_t number = 0; number < array.count(); ++number)
      bank(number);
  }

private:
  void bank(int64_t number) {
    const std::string name = array.bank(number);
    auto writes = portsOfBank(array.writes, number);
    auto reads = portsOfBank(array.reads, number);
    if (reads.empty() && writes.empty() && !array.value)
      return;
    declarations << "  ";
    if (!array.inRegisters())
      declarations << "(* ram_style = \"" << styleOf(array.inBlocks(), array.words(), writes.size()) << "\" *) ";
    declarations << "reg " << word << " " << name << " [0:" << array.words() - 1 << "];\n";
    if (array.value)
      initial(number);
    for (auto [port, requests] : llvm::enumerate(writes)) {
      const std::string base = name + "_w" + std::to_string(port);
      addressed(base, requests);
      declarations << "  wire " << word << " " << base << "_data;\n";
      out << "  assign " << base << "_data = " << chosen(requests, array.width(), [](auto &r) { return r.data; })
          << ";\n  always @(posedge clk) if (" << base << "_on) " << name << "[" << base << "_at] <= " << base
          << "_data;\n";
    }
    for (auto [port, requests] : llvm::enumerate(reads)) {
      if (array.inRegisters()) {
        for (BankRead &read : requests)
          out << "  assign " << read.data << " = $signed(" << name << "[" << read.address << "]);\n";
        continue;
      }
      this->read(name, name + "_r" + std::to_string(port), requests, writes.size());
    }
  }

  template <typename Requests> void addressed(const std::string &base, Requests &requests) {
    declarations << "  wire " << base << "_on;\n  wire [" << addressBits - 1 << ":0] " << base << "_at;\n";
    out << "  assign " << base << "_on = " << either(requests, [](auto &r) { return r.enable; }) << ";\n  assign "
        << base << "_at = " << chosen(requests, addressBits, [](auto &r) { return r.address; }) << ";\n";
  }

  void read(const std::string &name, const std::string &base, std::vector<BankRead> &requests, size_t writes) {
    addressed(base, requests);
    declarations << "  reg " << word << " " << base << "_q;\n";
    out << "  always @(posedge clk) if (" << base << "_on) " << base << "_q <= " << name << "[" << base << "_at];\n";
    std::string data = base + "_q";
    if (array.bypassed && writes > 0) { // what is written in the cycle of the read
      declarations << "  reg " << base << "_new;\n  reg " << word << " " << base << "_is;\n";
      std::string same = "1'b0", its = name + "_w0_data";
      for (size_t write = 0; write < writes; ++write) {
        const std::string w = name + "_w" + std::to_string(write);
        same += " | (" + w + "_on & (" + w + "_at == " + base + "_at))";
        if (write > 0)
          its = "(" + w + "_on & (" + w + "_at == " + base + "_at)) ? " + w + "_data : " + its;
      }
      out << "  always @(posedge clk) if (" << base << "_on) begin " << base << "_new <= " << same << "; " << base
          << "_is <= " << its << "; end\n";
      data = "(" + base + "_new ? " + base + "_is : " + base + "_q)";
    }
    for (BankRead &read : requests)
      out << "  assign " << read.data << " = $signed(" << data << ");\n";
  }

  void initial(int64_t bank) {
    ArrayRef<int64_t> shape = array.type.getShape();
    std::vector<int64_t> place(shape.size());
    out << "  initial begin\n";
    int64_t number = 0;
    for (const llvm::APInt &value : array.value.getValues<llvm::APInt>()) {
      int64_t rest = number++;
      for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
        place[dim] = rest % shape[dim];
      auto [its, word] = bankAndWord(place, array.banks, array.inBank);
      if (its != bank)
        continue;
      llvm::SmallString<24> digits;
      value.toString(digits, 16, /*Signed=*/false);
      out << "    " << array.bank(bank) << "[" << word << "] = " << array.width() << "'h" << digits << ";\n";
    }
    out << "  end\n";
  }

  RtlArray &array;
  unsigned addressBits;
  std::string word;
  llvm::raw_string_ostream declarations, out;
};

} // namespace

void printMemories(RtlArray &array, RtlText &text) { MemoryPrinter(array, text).print(); }

void printQueue(RtlQueue &queue, RtlText &text) {
  llvm::raw_string_ostream declarations(text.declarations), out(text.logic);
  const std::string &name = queue.name, word = "[" + std::to_string(queue.width - 1) + ":0]";
  const std::string place = "[" + std::to_string(std::max(1u, llvm::Log2_64_Ceil(uint64_t(queue.depth))) - 1) + ":0]";
  const std::string last = std::to_string(queue.depth - 1);
  declarations << "  (* ram_style = \"" << styleOf(queue.inBlocks, queue.depth, 1) << "\" *) reg " << word << " "
               << name << " [0:" << last << "];\n  reg " << place << " " << name << "_from, " << name << "_to;\n  reg ["
               << llvm::Log2_64_Ceil(uint64_t(queue.depth) + 1) - 1 << ":0] " << name << "_held;\n  wire " << name
               << "_empty, " << name << "_full, " << name << "_take, " << name << "_put;\n  wire signed " << word << " "
               << name << "_head;\n";
  out << "\n  assign " << name << "_empty = " << name << "_held == 0;\n  assign " << name << "_full = " << name
      << "_held == " << queue.depth << ";\n  assign " << name << "_head = $signed(" << name << "[" << name
      << "_from]);\n  assign " << name << "_take = " << queue.take << ";\n  assign " << name << "_put = " << queue.put
      << ";\n  always @(posedge clk) begin\n    if (" << name << "_put) " << name << "[" << name
      << "_to] <= " << queue.value << ";\n    if (reset | begin_now) begin " << name << "_from <= 0; " << name
      << "_to <= 0; " << name << "_held <= 0; end\n    else begin\n      if (" << name << "_put) " << name << "_to <= "
      << name << "_to == " << last << " ? 0 : " << name << "_to + 1;\n      if (" << name << "_take) " << name
      << "_from <= " << name << "_from == " << last << " ? 0 : " << name << "_from + 1;\n      " << name << "_held <= "
      << name << "_held + " << name << "_put - " << name << "_take;\n    end\n  end\n";
}

} // namespace tilewright::hls
