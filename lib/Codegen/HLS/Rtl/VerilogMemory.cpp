//===- VerilogMemory.cpp - print memories and queues as Verilog -----------------------------===//
//
//   (* ram_style = "block" *) reg [7:0] w_chip_mem_0 [0:383];
//   always @(posedge clk) if (w_chip_mem_0_w0_on) w_chip_mem_0[w_chip_mem_0_w0_at] <= w_chip_mem_0_w0_data;
//   always @(posedge clk) if (w_chip_mem_0_r0_on) w_chip_mem_0_r0_q <= w_chip_mem_0[w_chip_mem_0_r0_at];
//
// A bank is a memory with as many read and write ports as one nest needs in a cycle, usually one of each. The nests
// that access the bank run one after another, so they share the ports. The attribute `ram_style` selects whether
// synthesis implements the bank in block memories, in lookup tables or in registers, as the estimate assumes.
//
// Tests: test/Codegen/HLS/rtl.mlir, test/Codegen/HLS/rtl-banks.mlir, test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/VerilogMemory.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/Rtl/IndexText.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::hls {

unsigned RtlArray::width() const {
  Type element = type.getElementType();
  return element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
}
int64_t RtlArray::words() const {
  int64_t product = 1;
  for (auto [size, banked] : llvm::zip(type.getShape(), inBank))
    product *= banked;
  return product;
}
int64_t RtlArray::count() const {
  int64_t product = 1;
  for (int64_t its : banks)
    product *= its;
  return product;
}

bool RtlArray::inBlocks() const { return blockMemories(type) > 0; }

namespace {

template <typename Requests> std::string either(Requests &requests, auto field) {
  std::string all;
  for (auto &request : requests)
    all += (all.empty() ? "" : " | ") + ("(" + field(request) + ")");
  return all;
}

/// Returns an expression for a field of the request whose enable signal is set. At most one enable signal is set in a
/// cycle, so more than two requests are combined by AND and OR gates instead of a chain of conditions.
template <typename Requests> std::string chosen(Requests &requests, unsigned width, auto field) {
  std::string all;
  if (requests.size() > 2) {
    for (auto &request : requests)
      all += (all.empty() ? "" : " | ") +
             ("({" + std::to_string(width) + "{" + request.enable + "}} & (" + field(request) + "))");
    return all;
  }
  for (size_t number = 0; number + 1 < requests.size(); ++number)
    all += "(" + requests[number].enable + ") ? " + field(requests[number]) + " : ";
  return all + field(requests.back());
}

template <typename Request> using Ports = std::vector<std::vector<Request>>;

/// Returns the requests of all nests to a bank, indexed by port.
template <typename OfNests> auto usedPortsOfBank(OfNests &ofNests, int64_t bank) {
  Ports<typename OfNests::value_type::mapped_type::value_type> ports;
  for (auto &nest : ofNests)
    if (auto found = nest.find(bank); found != nest.end())
      for (auto &request : found->second) {
        if (ports.size() <= request.port)
          ports.resize(request.port + 1);
        ports[request.port].push_back(request);
      }
  llvm::erase_if(ports, [](auto &requests) { return requests.empty(); }); // remove ports that the bank does not use
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
      : array(array), addressBits(bitsUpTo(array.words() - 1)), word("[" + std::to_string(array.width() - 1) + ":0]"),
        declarations(text.declarations), out(text.logic), parts(text.parts) {}

  void print() {
    out << "\n";
    for (int64_t number = 0; number < array.count(); ++number)
      bank(number);
  }

private:
  void bank(int64_t number) {
    const std::string name = array.bank(number);
    auto writes = usedPortsOfBank(array.writes, number);
    auto reads = usedPortsOfBank(array.reads, number);
    if (reads.empty() && writes.empty() && !array.value)
      return;
    declarations << "  ";
    if (!array.inRegisters())
      declarations << "(* ram_style = \"" << styleOf(array.inBlocks(), array.words(), writes.size()) << "\" *) ";
    declarations << "reg " << word << " " << name << " [0:" << array.words() - 1 << "];\n";
    if (array.value)
      initial(number);
    count(writes, reads);
    const size_t shared = sharedPorts(number, writes.size(), reads.size());
    for (auto [port, requests] : llvm::enumerate(writes)) {
      const std::string base = name + "_w" + std::to_string(port);
      addressed(base, requests);
      declarations << "  wire " << word << " " << base << "_data;\n";
      countPort(requests, array.width(), [](auto &r) { return r.data; });
      out << "  assign " << base << "_data = " << chosen(requests, array.width(), [](auto &r) { return r.data; })
          << ";\n  always @(posedge clk) if (" << base << "_on) " << name << "["
          << (port < shared ? name + "_p" + std::to_string(port) : base) << "_at] <= " << base << "_data;\n";
    }
    for (auto [port, requests] : llvm::enumerate(reads)) {
      if (array.inRegisters()) {
        for (BankRead &read : requests)
          out << "  assign " << read.data << " = $signed(" << name << "[" << read.address << "]);\n";
        continue;
      }
      const std::string base = name + "_r" + std::to_string(port), both = name + "_p" + std::to_string(port);
      read(name, base, port < shared ? both : base, requests, writes);
      if (port >= shared)
        continue;
      const std::string write = name + "_w" + std::to_string(port);
      declarations << "  wire [" << addressBits - 1 << ":0] " << both << "_at;\n";
      out << "  assign " << both << "_at = " << write << "_on ? " << write << "_at : " << base << "_at;\n";
      parts.select(2, addressBits);
    }
  }

  /// Returns the number of ports that reads and writes share. A block memory has two ports in total. If several
  /// elements are written in a cycle, reads use the ports and the address wires of the writes. This requires that no
  /// nest both reads and writes the bank.
  size_t sharedPorts(int64_t bank, size_t writes, size_t reads) const {
    if (!array.inBlocks() || writes < 2)
      return 0;
    for (auto [written, read] : llvm::zip(array.writes, array.reads))
      if (written.count(bank) && read.count(bank))
        return 0;
    return std::min(writes, reads);
  }

  void count(const Ports<BankWrite> &writes, const Ports<BankRead> &reads) {
    const int64_t words = array.words(), bits = array.width();
    if (!array.inRegisters())
      parts.ff += int64_t(reads.size()) * (array.inBlocks() ? 0 : bits);
    if (array.inBlocks())
      return;
    if (array.isConstants()) // constants are part of the expressions of their consumers
      return;
    if (array.value)
      return parts.rom(words, bits, int64_t(reads.size()));
    if (!array.inRegisters() && words > 1 && writes.size() == 1)
      return parts.memory(words, bits, int64_t(reads.size()));
    int64_t ways = 0; // number of pairs of a word and a request that may write this word
    for (const std::vector<BankWrite> &requests : writes)
      for (const BankWrite &request : requests) {
        ways += request.words;
        if (words > 1 && parts.first(request.enable + " word " + request.address))
          parts.gates(request.words);
      }
    int64_t readers = 0; // each request that reads a register has a separate multiplexer
    for (const std::vector<BankRead> &requests : reads)
      readers += array.inRegisters() ? int64_t(requests.size()) : 1;
    parts.registers(words, bits, ways, readers);
  }

  /// Counts the multiplexer that selects a field of one of a port's requests.
  template <typename Requests> void countPort(Requests &requests, int64_t bits, auto field) {
    if (requests.size() < 2)
      return;
    if (parts.first(chosen(requests, 1, field)))
      parts.select(int64_t(requests.size()), bits);
  }
  template <typename Requests> void countEnables(Requests &requests) {
    int64_t several = requests.size() > 1 ? int64_t(requests.size()) / 4 + 1 : 0;
    for (auto &request : requests)
      several += request.enable.find("==") != std::string::npos && parts.first(request.enable);
    if (several > 0 && parts.first(either(requests, [](auto &r) { return r.enable; })))
      parts.gates(several);
  }

  template <typename Requests> void addressed(const std::string &base, Requests &requests) {
    declarations << "  wire " << base << "_on;\n  wire [" << addressBits - 1 << ":0] " << base << "_at;\n";
    out << "  assign " << base << "_on = " << either(requests, [](auto &r) { return r.enable; }) << ";\n  assign "
        << base << "_at = " << chosen(requests, addressBits, [](auto &r) { return r.address; }) << ";\n";
    countEnables(requests);
    countPort(requests, array.words() > 1 ? addressBits : 0, [](auto &r) { return r.address; });
  }

  void read(const std::string &name, const std::string &base, const std::string &port, std::vector<BankRead> &requests,
            Ports<BankWrite> &writePorts) {
    const size_t writes = writePorts.size();
    addressed(base, requests);
    declarations << "  reg " << word << " " << base << "_q;\n";
    out << "  always @(posedge clk) if (" << base << "_on) " << base << "_q <= " << name << "[" << port << "_at];\n";
    std::string data = base + "_q";
    if (array.bypassed && writes > 0) { // forward an element that is written in the same cycle
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
      parts.ff += 1 + array.width();
      parts.select(int64_t(writes), array.width());
      parts.select(2, array.width());
      auto at = [](auto &request) { return request.address; };
      for (std::vector<BankWrite> &write : writePorts)
        if (parts.first(chosen(write, addressBits, at) + " == " + chosen(requests, addressBits, at)))
          parts.equal(addressBits + 1);
      data = "(" + base + "_new ? " + base + "_is : " + base + "_q)";
    }
    for (BankRead &read : requests)
      out << "  assign " << read.data << " = $signed(" << data << ");\n";
  }

  void initial(int64_t bank) {
    ArrayRef<int64_t> shape = array.type.getShape();
    std::vector<int64_t> indices(shape.size());
    out << "  initial begin\n";
    int64_t number = 0;
    for (const llvm::APInt &value : array.value.getValues<llvm::APInt>()) {
      int64_t rest = number++;
      for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
        indices[dim] = rest % shape[dim];
      auto [its, word] = bankAndWord(indices, array.banks, array.inBank);
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
  RtlParts &parts;
};

} // namespace

void printMemories(RtlArray &array, RtlText &text) { MemoryPrinter(array, text).print(); }

void printQueue(RtlQueue &queue, RtlText &text) {
  llvm::raw_string_ostream declarations(text.declarations), out(text.logic);
  const int64_t addressBits = bitsUpTo(queue.depth - 1);
  if (!queue.inBlocks && queue.depth > 1)
    text.parts.memory(queue.depth, queue.width, 1);
  else if (!queue.inBlocks)
    text.parts.registers(1, queue.width, 1, 1);
  text.parts.gates(2 * addressBits + 2 * (addressBits + 1) + 4);
  text.parts.ff += 3 * addressBits + 1;
  const std::string &name = queue.name, word = "[" + std::to_string(queue.width - 1) + ":0]";
  const std::string addressRange = "[" + std::to_string(addressBits - 1) + ":0]";
  const std::string last = std::to_string(queue.depth - 1);
  declarations << "  (* ram_style = \"" << styleOf(queue.inBlocks, queue.depth, 1) << "\" *) reg " << word << " "
               << name << " [0:" << last << "];\n  reg " << addressRange << " " << name << "_from, " << name
               << "_to;\n  reg [" << llvm::Log2_64_Ceil(uint64_t(queue.depth) + 1) - 1 << ":0] " << name
               << "_held;\n  wire " << name << "_empty, " << name << "_full, " << name << "_take, " << name
               << "_put;\n  wire signed " << word << " " << name << "_head;\n";
  out << "\n  assign " << name << "_empty = " << name << "_held == 0;\n  assign " << name << "_full = " << name
      << "_held == " << queue.depth << ";\n  assign " << name << "_head = $signed(" << name << "[" << name
      << "_from]);\n  assign " << name << "_take = " << queue.take << ";\n  assign " << name << "_put = " << queue.put
      << ";\n  always @(posedge clk) begin\n    if (" << name << "_put) " << name << "[" << name
      << "_to] <= " << queue.value << ";\n    if (reset | begin_now) begin " << name << "_from <= 0; " << name
      << "_to <= 0; " << name << "_held <= 0; end\n    else begin\n      if (" << name << "_put) " << name
      << "_to <= " << name << "_to == " << last << " ? 0 : " << name << "_to + 1;\n      if (" << name << "_take) "
      << name << "_from <= " << name << "_from == " << last << " ? 0 : " << name << "_from + 1;\n      " << name
      << "_held <= " << name << "_held + " << name << "_put - " << name << "_take;\n    end\n  end\n";
}

} // namespace tilewright::hls
