//===- VerilogNest.cpp - print one pipelined nest as Verilog ---------------------------------===//
//
//   assign task_gemm_0_valid_0 = task_gemm_0_running;                           // stage 0: an iteration begins
//   assign task_gemm_0_s7 = task_gemm_0_s5_4 + task_gemm_0_s6;                  // stage 4: a sum ...
//   always @(posedge clk) if (task_gemm_0_go_5) task_gemm_0_s7_r <= task_gemm_0_s7; // ... and the register after it
//
// Registers delay a value from the stage that computes it to the later stages that use it. If a queue is empty (or
// full), the stage that reads (or writes) the queue and all earlier stages wait, and later stages continue.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/VerilogNest.h"
#include "lib/Codegen/HLS/Rtl/IndexText.h"
#include "lib/Codegen/HLS/Rtl/NestParts.h"
#include "lib/Codegen/HLS/Rtl/VerilogExpression.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mlir;

namespace tilewright::hls {

namespace {

std::string text(int64_t number) { return std::to_string(number); }

std::string signedBits(unsigned bits) { return bits == 1 ? "signed [0:0]" : "signed [" + text(bits - 1) + ":0]"; }

class NestPrinter {
public:
  NestPrinter(const PipelineNest &nest, StringRef prefix, RtlContext &context, RtlText &text,
              std::vector<std::string> &problems)
      : nest(nest), prefix(prefix.str() + "_"), context(context), declarations(text.declarations), out(text.logic),
        parts(text.parts), operations(nest, text.parts), problems(problems) {}

  void print() {
    findWaits();
    findPorts();
    controls();
    for (size_t number = 0; number < nest.steps.size(); ++number)
      step(number);
    ports();
    // Print registers that delay values from stage to stage.
    for (auto &[name, last] : delayed) {
      const auto &[width, from] = declared[name];
      for (int64_t stage = from; stage < last; ++stage)
        handOn(stageName(name, stage, from), stageName(name, stage + 1, from), width, stage);
    }
    for (auto &[name, stages] : needed)
      countChain(name, stages);
  }

private:
  /// Finds the stages that access queues. In these stages, the nest may have to wait.
  void findWaits() {
    for (const Step &step : nest.steps) {
      if (step.kind == Step::Kind::Read)
        waits[step.start].push_back(context.queues[step.memory]->name + "_empty");
      if (step.kind == Step::Kind::Write)
        waits[step.start].push_back(context.queues[step.memory]->name + "_full");
    }
  }

  /// Finds the banks, and their ports, that each load or store of an array on the chip uses.
  void findPorts() {
    std::map<std::pair<RtlArray *, bool>, std::vector<size_t>> accesses;
    for (auto [number, step] : llvm::enumerate(nest.steps))
      if (const bool isLoad = step.kind == Step::Kind::Load; isLoad || step.kind == Step::Kind::Store)
        if (RtlArray *array = context.arrays.lookup(step.memory); array && !step.overwritten)
          accesses[{array, isLoad}].push_back(number);
    for (auto &[key, numbers] : accesses)
      uses.merge(bankUses(nest, numbers, key.first->banks, key.first->inBank));
  }

  std::string valid(int64_t stage) const { return prefix + "valid_" + text(stage); }

  /// Returns the condition under which the values in `stage` advance to the next stage. Returns an empty string if they
  /// always advance.
  std::string go(int64_t stage) const {
    auto next = waits.lower_bound(stage);
    return next == waits.end() ? "" : prefix + "go_" + text(next->first);
  }

  std::string always(int64_t stage) const {
    std::string condition = go(stage);
    return "  always @(posedge clk) " + (condition.empty() ? "" : "if (" + condition + ") ");
  }

  std::string stageName(const std::string &name, int64_t stage, int64_t from) const {
    return stage == from ? name : name + "_" + text(stage);
  }

  void handOn(const std::string &from, const std::string &to, unsigned width, int64_t stage) {
    reg(signedBits(width), to);
    out << always(stage) << to << " <= " << from << ";\n";
  }

  /// Counts the registers that delay a value from stage to stage. The registers form shift registers. A shift register
  /// ends at each stage that uses the value, and at each stage that advances under another condition than the stage
  /// before it.
  void countChain(const std::string &name, const std::set<int64_t> &stages) {
    const int64_t from = declared[name].second;
    int64_t width = declared[name].first, length = lead[name];
    if (auto found = narrow.find(name); found != narrow.end())
      width = found->second;
    for (int64_t stage = from; stage <= *stages.rbegin(); ++stage) {
      if (stages.count(stage) || (stage > from && go(stage) != go(stage - 1))) {
        parts.chain(length, width);
        length = 0;
      }
      ++length;
    }
  }

  void reg(const std::string &bits, const std::string &name) {
    declarations << "  reg " << bits << " " << name << ";\n";
  }
  void wire(const std::string &bits, const std::string &name, const std::string &value = "") {
    declarations << "  wire " << bits << " " << name << ";\n";
    if (!value.empty())
      out << "  assign " << name << " = " << value << ";\n";
  }

  static unsigned bitsFor(int64_t most) { return llvm::Log2_64_Ceil(uint64_t(most) + 1) + 1; }

  void controls() {
    out << "\n  // " << nest.label << ": " << nest.iterations << " iterations, one every " << nest.ii << ", "
        << nest.depth << " stages\n";
    for (auto next = waits.rbegin(); next != waits.rend(); ++next) {
      auto following = waits.upper_bound(next->first);
      std::string any;
      for (const std::string &one : next->second)
        any += (any.empty() ? "" : " | ") + one;
      wire("", prefix + "go_" + text(next->first),
           (following == waits.end() ? "" : prefix + "go_" + text(following->first) + " & ") + "~(" +
               valid(next->first) + " & (" + any + "))");
    }
    // Gates for `running`, `ended`, and the conditions under which stages advance.
    parts.gates(4 + int64_t(waits.size()));
    parts.ff += 3 + nest.depth;
    if (nest.ii > 1) {
      parts.gates(2 + bitsFor(nest.ii));
      parts.ff += bitsFor(nest.ii);
    }
    for (const Counter &counter : nest.counters) {
      const int64_t bits = bitsFor(counter.from + counter.trips - 1);
      parts.equalConstant(bits);
      parts.gates(bits);
      parts.ff += bits;
    }
    reg("", prefix + "running");
    std::string isLast, here = prefix + "step";
    for (size_t number = 0; number < nest.counters.size(); ++number) {
      const Counter &counter = nest.counters[number];
      counters.push_back(prefix + "c" + text(number));
      reg(signedBits(bitsFor(counter.from + counter.trips - 1)), counters.back());
      declared[counters.back()] = {bitsFor(counter.from + counter.trips - 1), 0};
      isLast += (isLast.empty() ? "" : " & ") +
                ("(" + counters.back() + " == " + text(counter.from + counter.trips - 1) + ")");
    }
    for (auto [number, quotient] : llvm::enumerate(nest.quotients)) {
      const std::string name = prefix + "q" + text(number);
      const int64_t most = rangeOf(nest, quotient.of).second;
      const unsigned bits = bitsUpTo(quotient.isRest ? quotient.by - 1 : most / quotient.by);
      auto function = [&](ArrayRef<int64_t> at) {
        return quotient.isRest ? valueOf(quotient.of, at) % quotient.by : valueOf(quotient.of, at) / quotient.by;
      };
      if (!table(name + "_is", bits, {quotient.of}, 0, function)) {
        auto [whole, rest] = divided(name, quotient.of, quotient.by, 0);
        wire("[" + text(bits - 1) + ":0]", name + "_is", quotient.isRest ? rest : whole);
      }
      wire(signedBits(bits + 1), name, "$signed({1'b0, " + name + "_is})");
      counters.push_back(name);
      declared[name] = {bits + 1, 0};
    }
    if (nest.ii > 1) {
      reg("[" + text(bitsFor(nest.ii)) + ":0]", prefix + "phase");
      wire("", valid(0), prefix + "running & (" + prefix + "phase == 0)");
      wire("", here, prefix + "running & (" + prefix + "phase == " + text(nest.ii - 1) + ")");
    } else {
      wire("", valid(0), prefix + "running");
      wire("", here, prefix + "running");
    }
    wire("", prefix + "last", isLast);
    const std::string moves = go(0).empty() ? "" : " & " + go(0);
    out << "  always @(posedge clk)\n    if (reset) " << prefix << "running <= 1'b0;\n    else if (" << prefix
        << "start) begin\n      " << prefix << "running <= 1'b1;\n";
    if (nest.ii > 1)
      out << "      " << prefix << "phase <= 0;\n";
    for (auto [name, counter] : llvm::zip(counters, nest.counters))
      out << "      " << name << " <= " << counter.from << ";\n";
    out << "    end";
    if (nest.ii > 1)
      out << " else if (" << prefix << "running & ~" << here << (go(0).empty() ? "" : " & " + go(0)) << ")\n      "
          << prefix << "phase <= " << prefix << "phase + 1;\n    else";
    else
      out << " else";
    out << " if (" << here << moves << ") begin\n";
    if (nest.ii > 1)
      out << "      " << prefix << "phase <= 0;\n";
    out << "      if (" << prefix << "last) " << prefix << "running <= 1'b0;\n";
    // The innermost counter is incremented in each iteration. Every other counter is incremented when all counters of
    // the loops inside its loop wrap.
    std::string carry;
    for (size_t number = nest.counters.size(); number-- > 0;) {
      const Counter &counter = nest.counters[number];
      const std::string end = "(" + counters[number] + " == " + text(counter.from + counter.trips - 1) + ")";
      out << "      " << (carry.empty() ? "" : "if (" + carry + ") ") << counters[number] << " <= " << end << " ? "
          << counter.from << " : " << counters[number] << " + 1;\n";
      carry += (carry.empty() ? "" : " & ") + end;
    }
    out << "    end\n";
    // Print the registers that store whether a stage contains an iteration.
    for (int64_t stage = 1; stage < nest.depth; ++stage) {
      const std::string before = go(stage - 1), own = go(stage);
      reg("", valid(stage));
      out << "  always @(posedge clk) if (reset) " << valid(stage) << " <= 1'b0; else ";
      if (own.empty() && before.empty())
        out << valid(stage) << " <= " << valid(stage - 1) << ";\n";
      else if (own == before)
        out << "if (" << own << ") " << valid(stage) << " <= " << valid(stage - 1) << ";\n";
      else
        out << (own.empty() ? "" : "if (" + own + ") ") << valid(stage) << " <= " << valid(stage - 1) << " & " << before
            << ";\n";
    }
    declared[prefix + "last"] = {1, 0};
    const std::string last = at(prefix + "last", nest.depth - 1), moved = go(nest.depth - 1);
    reg("", prefix + "ended");
    reg("", prefix + "done");
    out << "  always @(posedge clk) " << prefix << "ended <= ~reset & " << valid(nest.depth - 1) << " & " << last
        << (moved.empty() ? "" : " & " + moved) << (nest.depth == 1 && nest.ii > 1 ? " & " + here : "")
        << ";\n  always @(posedge clk) " << prefix << "done <= ~reset & " << prefix << "ended;\n";
  }

  /// Returns the name of the wire or register that has the value of `name` in stage `stage`.
  std::string at(const std::string &name, int64_t stage) {
    const int64_t from = declared[name].second;
    int64_t &last = delayed[name];
    last = std::max(last, stage);
    needed[name].insert(stage);
    return stageName(name, stage, from);
  }

  /// Returns the result of step `number` as an expression in `stage`.
  std::string value(size_t number, int64_t stage) {
    const Step &step = nest.steps[number];
    if (step.kind == Step::Kind::Constant) {
      llvm::SmallString<24> digits;
      step.constant.abs().toString(digits, 10, /*Signed=*/false);
      const unsigned bits = std::max(2u, step.bits + 1); // the magnitude of the minimum needs one more bit
      return std::string(step.constant.isNegative() ? "(-" : "") + text(bits) + "'sd" + digits.str().str() +
             (step.constant.isNegative() ? ")" : "");
    }
    if (step.kind == Step::Kind::Counter)
      return "(" + sum(step.at[0], stage) + ")";
    return at(names[number], stage);
  }

  std::string sum(const IndexSum &index, int64_t stage) { return sumOf(index, stage, "(", " + 0)"); }

  /// Returns an index as an expression with the width of an address. Products with positive constants are printed as
  /// shifts and additions, because indices should not use the chip's multipliers.
  std::string address(const IndexSum &index, int64_t stage) { return sumOf(index, stage, "", ""); }

  /// Returns the expression of an index. `before` and `after` are printed around each counter that is multiplied by a
  /// constant: with "(" and " + 0)", the counter is extended to 32 bits before it is shifted.
  std::string sumOf(const IndexSum &index, int64_t stage, const std::string &before, const std::string &after) {
    operations.sum(index, prefix, stage);
    std::string all;
    for (auto [factor, counter] : llvm::zip(index.factors, counters))
      if (factor != 0)
        all += (all.empty() ? "" : " + ") +
               (factor == 1 ? at(counter, stage) : timesConstant(before + at(counter, stage) + after, factor));
    if (all.empty() || index.constant != 0)
      all += (all.empty() ? "" : " + ") + text(index.constant);
    return all;
  }

  std::string indexOf(const IndexTable &table, int64_t stage) {
    std::string index;
    for (auto [counter, bits] : llvm::zip(table.counters, table.bits))
      index += (index.empty() ? "" : ", ") + at(counters[counter], stage) + "[" + text(bits - 1) + ":0]";
    return index;
  }

  /// Defines a wire `name` as the entry of a constant table that is indexed by counters. Returns false if tabulate()
  /// returns no table.
  bool table(const std::string &name, unsigned width, ArrayRef<IndexSum> indices, int64_t stage,
             llvm::function_ref<int64_t(ArrayRef<int64_t>)> function) {
    std::optional<IndexTable> made = tabulate(nest, indices, width, function);
    if (!made)
      return false;
    std::string index = indexOf(*made, stage);
    if (made->strideBits() > 0)
      index += ", " + text(made->strideBits()) + "'d0";
    wire("[" + text((int64_t(1) << (made->indexBits() + made->strideBits())) - 1) + ":0]", name + "_table", made->text);
    if (parts.first(made->text + index))
      parts.table(made->indexBits(), width);
    wire("[" + text(width - 1) + ":0]", name, name + "_table[{" + index + "} +: " + text(width) + "]");
    return true;
  }

  /// Divides an index by a constant. Returns the quotient and the remainder.
  std::pair<std::string, std::string> divided(const std::string &name, const IndexSum &index, int64_t by,
                                              int64_t stage) {
    const int64_t most = rangeOf(nest, index).second;
    const std::string its = name + "_of", bits = "[" + text(bitsUpTo(most) - 1) + ":0]";
    wire(bits, its, address(index, stage));
    if (by == 1)
      return {its, "1'd0"};
    auto [whole, width] = quotientText(its, most, by);
    if (!llvm::isPowerOf2_64(uint64_t(by)))
      // Adders for the reciprocal, which has few set bits, and for the remainder.
      parts.adder(3 * int64_t(bitsUpTo(most)));
    wire("[" + text(width - 1) + ":0]", name + "_by", whole);
    wire(bits, name + "_left", its + " - (" + timesConstant(name + "_by", by) + ")");
    return {name + "_by", name + "_left"};
  }

  std::string expression(const Step &step) {
    return expressionText(
        step.op, [&](size_t operand) { return value(step.operands[operand], step.start); },
        [&](size_t operand) { return bitsOf(step.operands[operand], step.start); });
  }

  /// Returns an unsigned wire with the result of step `number`, with exactly the width of its type.
  std::string bitsOf(size_t number, int64_t stage) {
    const std::string name = prefix + "b" + text(number) + "_" + text(stage);
    if (plain.insert(name).second)
      wire("[" + text(nest.steps[number].width - 1) + ":0]", name, value(number, stage));
    return name;
  }

  void step(size_t number) {
    const Step &step = nest.steps[number];
    names[number] = prefix + "s" + text(number);
    const std::string name = names[number];
    switch (step.kind) {
    case Step::Kind::Constant:
    case Step::Kind::Counter:
      return;
    case Step::Kind::Compute: {
      declared[name] = {step.bits, step.start};
      wire(signedBits(step.bits), name, expression(step));
      const int64_t inside = operations.operation(number);
      if (step.latency > 0) { // print the stages of a pipelined operator
        names[number] = name + "_r";
        std::string from = name;
        for (int64_t stage = 0; stage < step.latency; ++stage) {
          const std::string to = name + "_r" + (stage + 1 == step.latency ? std::string() : text(stage));
          handOn(from, to, step.bits, step.start + stage);
          from = to;
        }
        declared[names[number]] = {step.bits, step.ready()};
        lead[names[number]] = std::max<int64_t>(0, step.latency - inside);
        narrow[names[number]] = operations.bitsOf(number);
      }
      return;
    }
    case Step::Kind::Read: {
      RtlQueue &queue = *context.queues[step.memory];
      queue.take = valid(step.start) + " & " + go(step.start);
      names[number] = name + "_r";
      handOn(queue.name + "_head", names[number], step.bits, step.start);
      parts.ff += step.bits;
      declared[names[number]] = {step.bits, step.ready()};
      return;
    }
    case Step::Kind::Write: {
      RtlQueue &queue = *context.queues[step.memory];
      queue.put = valid(step.start) + " & " + go(step.start);
      queue.value = value(step.operands[0], step.start);
      return;
    }
    case Step::Kind::Load:
    case Step::Kind::Store:
      declared[name] = {step.bits, step.ready()};
      narrow[name] = operations.bitsOf(number);
      if (RtlPort *port = context.ports.lookup(step.memory))
        return portLanes[port].push_back(number);
      return element(number);
    }
  }

  std::string enabled(int64_t stage) const {
    std::string moves = go(stage);
    return valid(stage) + (moves.empty() ? "" : " & " + moves);
  }

  /// Prints step `number`, a load or store of an array on the chip.
  void element(size_t number) {
    const Step &step = nest.steps[number];
    RtlArray &array = *context.arrays[step.memory];
    if (step.overwritten)
      return;
    const bool isLoad = step.kind == Step::Kind::Load;
    // A register is read in the stage that uses the element. A memory is read one stage earlier.
    const int64_t stage = isLoad && array.inRegisters() ? step.ready() : step.start;
    const BankUse &use = uses.at(number);
    const std::string addressName = prefix + "a" + text(number), bankName = addressName + "_bank";
    const bool known = use.banks.size() == 1;
    const std::vector<int64_t> numbers = defineAddress(step, array, use, addressName, bankName, stage);
    auto mine = [&](size_t its) {
      return known ? std::string() : " & (" + bankName + " == " + text(numbers[its]) + ")";
    };
    if (!isLoad) {
      for (size_t its = 0; its < use.banks.size(); ++its)
        array.writes.back()[use.banks[its]].push_back(
            {use.port, use.words[its], enabled(stage) + mine(its), addressName, value(step.operands[0], stage)});
      return;
    }
    array.bypassed |= step.bypassed;
    std::vector<std::pair<int64_t, std::string>> ways;
    for (auto [index, its] : llvm::enumerate(use.banks)) {
      const std::string data = known ? names[number] : names[number] + "_of_" + text(its);
      wire(signedBits(step.bits), data);
      array.reads.back()[its].push_back(
          {use.port, array.inRegisters() ? "" : enabled(stage) + mine(index), addressName, data});
      ways.push_back({numbers[index], data});
    }
    if (known ? step.bypassed : RtlParts::pickCanAbsorbGate(int64_t(ways.size())))
      operations.markAbsorbing(number);
    if (!known) {
      llvm::sort(ways);
      const unsigned bits = bitsUpTo(ways.back().first);
      if (array.isConstants())
        parts.table(bits, operations.bitsOf(number));
      else
        parts.pick(int64_t(ways.size()), operations.bitsOf(number));
      wire(signedBits(step.bits), names[number], multiplexerText(chosen(bankName, bits, array, stage), bits, ways));
    }
  }

  /// Defines a wire for the index of an element in its bank (the word). If the bank is not the same in all iterations,
  /// also defines a wire that identifies the bank. Returns the value of this second wire for each bank in `use.banks`.
  std::vector<int64_t> defineAddress(const Step &step, const RtlArray &array, const BankUse &use,
                                     const std::string &addressName, const std::string &bankName, int64_t stage) {
    const bool known = use.banks.size() == 1;
    const unsigned addressBits = bitsUpTo(array.words() - 1);
    // If the factors of all counters are multiples of the number of banks, the index in the bank is also a sum of
    // counters.
    const bool isSum = llvm::all_of(llvm::enumerate(step.at), [&](auto its) {
      const int64_t banks = array.banks[its.index()];
      return its.value().constant >= 0 &&
             llvm::all_of(its.value().factors, [&](int64_t factor) { return factor % banks == 0; });
    });
    const std::string bits = "[" + text(addressBits - 1) + ":0]";
    if (isSum) {
      IndexSum word;
      word.factors.resize(counters.size());
      for (auto [dim, at] : llvm::enumerate(step.at)) {
        for (size_t number = 0; number < counters.size(); ++number)
          word.factors[number] = word.factors[number] * array.inBank[dim] + at.factor(number) / array.banks[dim];
        word.constant = word.constant * array.inBank[dim] + at.constant / array.banks[dim];
      }
      wire(bits, addressName, array.words() == 1 ? "1'd0" : address(word, stage));
      return use.banks;
    }
    auto both = [&](ArrayRef<int64_t> counters) {
      std::vector<int64_t> its;
      for (const IndexSum &at : step.at)
        its.push_back(valueOf(at, counters));
      return bankAndWord(its, array.banks, array.inBank);
    };
    auto index = [&](int64_t bank) { return int64_t(llvm::find(use.banks, bank) - use.banks.begin()); };
    if (array.words() == 1)
      wire(bits, addressName, "1'd0");
    if (array.words() == 1 ||
        table(addressName, addressBits, step.at, stage, [&](auto at) { return both(at).second; })) {
      const int64_t last = int64_t(use.banks.size()) - 1;
      auto function = [&](auto at) { return index(both(at).first); };
      if (known)
        return use.banks;
      // If each bank corresponds to only one value of the counter bits, these bits select the bank, without a table
      // before the multiplexer. Each lookup table of the multiplexer then depends on only two of these bits.
      if (auto made = tabulate(nest, step.at, bitsUpTo(last), function))
        if (auto codes = made->onlyCodes(last)) {
          wire("[" + text(made->indexBits() - 1) + ":0]", bankName, "{" + indexOf(*made, stage) + "}");
          return *codes;
        }
      if (table(bankName, bitsUpTo(last), step.at, stage, function)) {
        auto its = llvm::seq<int64_t>(0, last + 1);
        return {its.begin(), its.end()};
      }
    }
    const unsigned bankBits = bitsUpTo(array.count() - 1);
    std::string word, bank;
    for (auto [dim, at] : llvm::enumerate(step.at)) {
      auto [whole, left] = divided(addressName + "_" + text(dim), at, array.banks[dim], stage);
      auto join = [&](std::string &all, const std::string &its, int64_t by, StringRef kind, unsigned width) {
        if (all.empty()) {
          all = its;
          return;
        }
        const std::string before = addressName + "_" + text(dim) + kind.str();
        wire("[" + text(width - 1) + ":0]", before, all);
        all = timesConstant(before, by) + " + " + its;
      };
      join(word, whole, array.inBank[dim], "_word", addressBits);
      join(bank, left, array.banks[dim], "_before", bankBits);
    }
    if (array.words() > 1)
      wire(bits, addressName, word);
    if (!known)
      wire("[" + text(bankBits - 1) + ":0]", bankName, bank);
    return use.banks;
  }

  /// Returns the wire that identifies the bank. If the array is a memory, the wire is delayed to the cycle in which the
  /// memory returns the element.
  std::string chosen(const std::string &bankName, unsigned bits, const RtlArray &array, int64_t stage) {
    if (array.inRegisters())
      return bankName;
    if (plain.insert(bankName).second) {
      reg("[" + text(bits - 1) + ":0]", bankName + "_r");
      out << always(stage) << bankName << "_r <= " << bankName << ";\n";
      parts.ff += bits;
    }
    return bankName + "_r";
  }

  /// Connects the ports of the design. The lanes of a port are adjacent elements.
  void ports() {
    for (auto &[port, steps] : portLanes) {
      const Step &first = nest.steps[steps[0]];
      auto type = cast<MemRefType>(first.memory.getType());
      auto linear = [&](const Step &step) {
        IndexSum all;
        all.factors.resize(counters.size());
        for (auto [size, index] : llvm::zip(type.getShape(), step.at)) {
          for (size_t number = 0; number < all.factors.size(); ++number)
            all.factors[number] = all.factors[number] * size + index.factor(number);
          all.constant = all.constant * size + index.constant;
        }
        return all;
      };
      if (!port->enable.empty()) {
        problems.push_back(locationText(first.op) + "two loops access the port '" + port->name + "'");
        return;
      }
      IndexSum base = linear(first);
      for (size_t number : steps)
        base.constant = std::min(base.constant, linear(nest.steps[number]).constant);
      port->lanes = steps.size();
      port->isOutput = first.kind == Step::Kind::Store;
      port->enable = enabled(first.start);
      port->address = address(base, first.start);
      port->data.resize(steps.size());
      for (size_t number : steps) {
        const Step &step = nest.steps[number];
        const IndexSum its = linear(step);
        const int64_t lane = its.constant - base.constant;
        if (lane < 0 || lane >= port->lanes || !(IndexSum{its.factors, 0} == IndexSum{base.factors, 0}) ||
            step.start != first.start || (step.kind == Step::Kind::Store) != port->isOutput ||
            !port->data[lane].empty()) {
          problems.push_back(locationText(step.op) + "elements of the port '" + port->name + "' are not adjacent");
          return;
        }
        if (port->isOutput) {
          port->data[lane] = bitsOf(step.operands[0], step.start);
          continue;
        }
        port->data[lane] = names[number];
        wire(signedBits(step.bits), names[number],
             port->name + "_data[" + text(lane * port->width) + " +: " + text(port->width) + "]");
      }
    }
  }

  const PipelineNest &nest;
  std::string prefix;
  RtlContext &context;
  llvm::raw_string_ostream declarations, out;
  RtlParts &parts;
  NestParts operations;
  std::vector<std::string> &problems;
  std::map<int64_t, std::vector<std::string>> waits;
  std::vector<std::string> counters;
  std::map<size_t, std::string> names;
  std::map<size_t, BankUse> uses;                               ///< uses of loads and stores of arrays on the chip
  std::map<std::string, std::pair<unsigned, int64_t>> declared; ///< bits of a value, and the stage that defines it
  std::map<std::string, int64_t> delayed;                       ///< the last stage that uses a value
  std::map<std::string, std::set<int64_t>> needed;              ///< all stages that use a value
  std::map<std::string, int64_t> narrow;                        ///< number of used bits of a value
  std::map<std::string, int64_t> lead;                          ///< registers of the operator that computes a value
  std::map<RtlPort *, std::vector<size_t>> portLanes;
  std::set<std::string> plain;
};

} // namespace

void printNest(const PipelineNest &nest, StringRef prefix, RtlContext &context, RtlText &text,
               std::vector<std::string> &problems) {
  NestPrinter(nest, prefix, context, text, problems).print();
}

} // namespace tilewright::hls
