"""Compares ap_fixed.h of the target hls with exact rational numbers, and with hls4ml's copy of the vendor's headers if
hls4ml is installed.

One program contains all formats. It reads the operators and operands, and writes the bits of the results.
"""

import importlib.util
import os
import pathlib
import random
import re
import shutil
import subprocess
from fractions import Fraction

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "lib" / "Codegen" / "HLS" / "CheckHeaders"
TOOL = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
FULL = bool(os.environ.get("TILEWRIGHT_TEST_FULL"))
ROUNDINGS = ["AP_RND", "AP_RND_ZERO", "AP_RND_MIN_INF", "AP_RND_INF", "AP_RND_CONV", "AP_TRN", "AP_TRN_ZERO"]
OVERFLOWS = ["AP_SAT", "AP_SAT_ZERO", "AP_SAT_SYM", "AP_WRAP"]
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="tilewright was not imported from a build tree")
OPERATORS = ["=", "+", "-", "*", "<", "==", "<<", ">>", "neg"]

# The program reads lines 'case operator a b', and prints the bits of each result. Numbers are written in two's
# complement with 32 hexadecimal digits. A number is split into two words of 64 bits, because the member
# function to_uint64() of the vendor's types returns at most 64 bits.
PROGRAM = """
#include <ap_fixed.h>
#include <stdio.h>
struct Words { unsigned long long high, low; };
#ifdef VENDOR
template <typename T> T make(Words w) {
  ap_uint<128> all;
  all.range(127, 64) = w.high;
  all.range(63, 0) = w.low;
  T x;
  x.range(T::width - 1, 0) = all.range(T::width - 1, 0);
  return x;
}
template <int W> Words words(ap_int<W> number) {
  const ap_int<192> wide = number; // for exactly 128 bits, the vendor's range() returns other bits
  return {wide.range(127, 64).to_uint64(), wide.range(63, 0).to_uint64()};
}
template <int W, int I, bool S, ap_q_mode Q, ap_o_mode O, int N> Words bits(const ap_fixed_base<W, I, S, Q, O, N> &x) {
  ap_uint<W> n = x.range(W - 1, 0);
  return S ? words(ap_int<W>(n)) : words(ap_int<W + 1>(n));
}
#else
template <typename T> T make(Words w) { return T::of_bits(tilewright::UWide(w.high) << 64 | w.low); }
template <typename T> Words bits(const T &x) { return {(unsigned long long)(x.bits >> 64), (unsigned long long)x.bits}; }
#endif
template <typename A, typename B, typename R> Words answer(int op, Words x, Words y) {
  const A a = make<A>(x);
  const B b = make<B>(y);
  const int by = (int)(y.low & 127);
  switch (op) {
  case 0: return bits(R(a));
  case 1: return bits(a + b);
  case 2: return bits(a - b);
  case 3: return bits(a * b);
  case 4: return {0, a < b};
  case 5: return {0, a == b};
  case 6: return bits(a << by);
  case 7: return bits(a >> by);
  default: return bits(-a);
  }
}
// An operator whose result has more than 128 bits cannot be compiled, so for such pairs of types only assignments and
// comparisons are tested.
template <typename A, typename B, typename R> Words assigned(int op, Words x, Words y) {
  return op == 4 ? Words{0, make<A>(x) < make<B>(y)} : op == 5 ? Words{0, make<A>(x) == make<B>(y)} : bits(R(make<A>(x)));
}
static Words compute(int number, int op, Words a, Words b) {
  switch (number) {
  CASES
  }
  return {0, 0};
}
int main() {
  int number, op;
  Words a, b;
  while (scanf("%d %d %16llx%16llx %16llx%16llx", &number, &op, &a.high, &a.low, &b.high, &b.low) == 6) {
    const Words r = compute(number, op, a, b);
    printf("%016llx%016llx\\n", r.high, r.low);
  }
}
"""


class Format:
    def __init__(self, width, integer, signed, rounding="AP_TRN", overflow="AP_WRAP"):
        self.width, self.integer, self.signed, self.rounding, self.overflow = width, integer, signed, rounding, overflow

    def __str__(self):
        return f"ap_{'' if self.signed else 'u'}fixed<{self.width}, {self.integer}, {self.rounding}, {self.overflow}>"

    @property
    def fraction(self):
        return self.width - self.integer

    @property
    def limits(self):
        return (-(1 << (self.width - 1)), (1 << (self.width - 1)) - 1) if self.signed else (0, (1 << self.width) - 1)

    def wrap(self, bits):
        bits &= (1 << self.width) - 1
        return bits - (1 << self.width) if self.signed and bits >> (self.width - 1) else bits

    def value(self, bits):
        return Fraction(bits) * Fraction(2) ** -self.fraction

    def assign(self, value):
        """Returns the bits of an exact number in this format, with the modes as specified by IEEE 1666."""
        scaled = value * Fraction(2) ** self.fraction
        down = scaled.numerator // scaled.denominator
        rest = scaled - down
        half = Fraction(1, 2)
        up = {
            "AP_TRN": False,
            "AP_TRN_ZERO": scaled < 0 and rest > 0,
            "AP_RND": rest >= half,
            "AP_RND_MIN_INF": rest > half,
            "AP_RND_INF": rest > half or (rest == half and scaled > 0),
            "AP_RND_ZERO": rest > half or (rest == half and scaled < 0),
            "AP_RND_CONV": rest > half or (rest == half and down % 2 == 1),
        }[self.rounding]
        bits = down + up
        low, high = self.limits
        if self.overflow == "AP_SAT_SYM" and self.signed:
            low = -high
        if low <= bits <= high:
            return bits
        match self.overflow:
            case "AP_SAT_ZERO":
                return 0
            case "AP_WRAP":
                return self.wrap(bits)
        return high if bits > high else low


def random_formats(count):
    draw = random.Random(7)
    edges = [1, 2, 8, 16, 31, 32, 33, 63, 64, 65, 127, 128]

    def one(modes):
        width = draw.choice(edges) if draw.random() < 0.3 else draw.randint(1, 128)
        width = draw.randint(1, 24) if draw.random() < 0.4 else width
        integer = draw.randint(-8, width + 8)
        return Format(width, integer, draw.random() < 0.7, *([draw.choice(ROUNDINGS), draw.choice(OVERFLOWS)] if modes else []))

    return [(one(False), one(False), one(True)) for _ in range(count)]


FORMATS = random_formats(600 if FULL else 32)


def result_of(op, a, b):
    """Returns the exact type of an operator's result."""
    signed = a.signed or b.signed
    integers = max(a.integer + (signed and not a.signed), b.integer + (signed and not b.signed)) + 1
    fraction = max(a.fraction, b.fraction)
    match op:
        case "+":
            return Format(integers + fraction, integers, signed)
        case "-":
            return Format(integers + fraction, integers, True)
        case "*":
            return Format(a.width + b.width, a.integer + b.integer, signed)
        case "neg":
            return Format(a.width + 1, a.integer + 1, True)
    return a


def is_small(a, b):
    return all(1 <= result_of(op, a, b).width <= 128 for op in ("+", "-", "*", "neg"))


def expected(op, a, b, target, x, y):
    left, right = a.value(x), b.value(y)
    match op:
        case "=":
            return target.assign(left)
        case "+":
            return result_of(op, a, b).assign(left + right)
        case "-":
            return result_of(op, a, b).assign(left - right)
        case "*":
            return result_of(op, a, b).assign(left * right)
        case "neg":
            return result_of(op, a, b).assign(-left)
        case "<":
            return int(left < right)
        case "==":
            return int(left == right)
        case "<<":
            return a.wrap(x << (y & 127))
        case ">>":
            return a.wrap(x >> (y & 127))


def questions():
    draw = random.Random(11)
    for number, (a, b, target) in enumerate(FORMATS):
        for op in OPERATORS if is_small(a, b) else ["=", "<", "=="]:
            for _ in range(24 if op == "=" else 6):
                x, y = (draw.choice([*f.limits, 0, f.limits[1] // 2, draw.randint(*f.limits), draw.randint(*f.limits)]) for f in (a, b))
                if draw.random() < 0.3 and op in ("<", "=="):  # adjacent numbers, not only random ones
                    y = min(max(int(a.value(x) * Fraction(2) ** b.fraction) + draw.randint(-1, 1), b.limits[0]), b.limits[1])
                if draw.random() < 0.4 and op == "=":  # exactly between two numbers of the target
                    drop = a.fraction - target.fraction
                    if 1 <= drop < a.width:
                        x = min(max(((x >> drop) << drop) + (1 << (drop - 1)), a.limits[0]), a.limits[1])
                yield number, op, x, y


def build(folder, *flags):
    cases = "\n".join(f"case {n}: return {'answer' if is_small(a, b) else 'assigned'}<{a}, {b}, {t}>(op, a, b);" for n, (a, b, t) in enumerate(FORMATS))
    (folder / "calculator.cpp").write_text(PROGRAM.replace("CASES", cases))
    subprocess.run(["g++", "-std=c++17", *flags, "calculator.cpp", "-o", "calculator"], cwd=folder, check=True, timeout=500)


def ask(folder, asked):
    digits = lambda value: f"{value & (1 << 128) - 1:032x}"  # noqa: E731
    text = "".join(f"{n} {OPERATORS.index(op)} {digits(x)} {digits(y)}\n" for n, op, x, y in asked)
    done = subprocess.run(["./calculator"], cwd=folder, input=text, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return [int(line, 16) for line in done.stdout.split()]


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ap_fixed")
    build(folder, "-O0", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-I", HEADERS)
    return folder


def test_ap_fixed_operators_equal_exact_fractions(ours):
    asked = list(questions())
    got = ask(ours, asked)
    assert len(got) == len(asked) > 1000
    for (number, op, x, y), bits in zip(asked, got):
        a, b, target = FORMATS[number]
        assert bits == expected(op, a, b, target, x, y) & (1 << 128) - 1, (str(a), op, str(b), str(target), x, y)


def test_ap_fixed_equals_the_headers_of_the_vendor(ours, tmp_path):
    """Compares all operators except shifts. The known differences of the vendor's results are excluded below."""
    if not importlib.util.find_spec("hls4ml"):
        pytest.skip("hls4ml is not installed, whose headers are the vendor's")
    vendor = pathlib.Path(importlib.util.find_spec("hls4ml").origin).parent / "templates" / "vivado" / "ap_types"
    # NDEBUG disables the assertions of the vendor's headers. Bits before the point that are outside of the number violate
    # these assertions, but do not change the results.
    build(tmp_path, "-O0", "-w", "-DNDEBUG", "-DVENDOR", "-I", vendor)
    # Shifts are excluded, because the vendor's shifts apply the rounding mode of the operand's type, and ours do not. Comparisons of a signed with an
    # unsigned number are excluded, too, because the vendor's result is wrong: large numbers are less than negative ones.
    mixed = [a.signed != b.signed for a, b, _ in FORMATS]
    asked = [question for question in questions() if question[1] not in ("<<", ">>") and not (question[1] == "<" and mixed[question[0]])]
    theirs, own = ask(tmp_path, asked), ask(ours, asked)
    differing = [(str(FORMATS[n][0]), op, str(FORMATS[n][1]), str(FORMATS[n][2]), x, y, hex(t), hex(o)) for (n, op, x, y), t, o in zip(asked, theirs, own) if t != o]
    assert not differing, (len(differing), len(asked), differing[:5])


def test_ap_fixed_converts_doubles_exactly(tmp_path):
    """A double is rounded to the bits of its exact value, and converted back."""
    draw = random.Random(3)
    formats = [target for _, _, target in FORMATS[:24]]
    numbers = [[draw.uniform(-1, 1) * 2.0 ** draw.randint(-12, 12) for _ in range(20)] + [0.0, 0.5, -0.5, 1.5, -2.5] for _ in formats]
    lines = "\n".join(f"tell({target}({number.hex()}));" for target, own in zip(formats, numbers) for number in own)
    text = (
        "#include <ap_fixed.h>\n#include <stdio.h>\ntemplate <typename T> void tell(const T &x) {\n"
        '  printf("%016llx%016llx %a\\n", (unsigned long long)(x.bits >> 64), (unsigned long long)x.bits, (double)x);\n}\n'
        f"int main() {{\n{lines}\n}}\n"
    )
    (tmp_path / "doubles.cpp").write_text(text)
    subprocess.run(["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-I", HEADERS, "doubles.cpp", "-o", "doubles"], cwd=tmp_path, check=True, timeout=300)
    said = iter(subprocess.run(["./doubles"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100).stdout.splitlines())
    for target, own in zip(formats, numbers):
        for number in own:
            bits, back = next(said).split()
            exact = target.assign(Fraction(number))
            assert int(bits, 16) == exact & (1 << 128) - 1, (str(target), number)
            assert float.fromhex(back) == float(target.value(exact)), (str(target), number)


def test_documented_fixed_point_example_prints_the_documented_output(tmp_path):
    """The commands of the section in docs/targets/hls.md run as written, and print the documented output."""
    if not shutil.which("iverilog"):
        pytest.skip("there is no iverilog")
    text = (ROOT / "docs" / "targets" / "hls.md").read_text().split("\n## Fixed point\n")[1].split("\n## ")[0]
    (tmp_path / "layers.mlir").write_text(re.search(r"```mlir\n(.*?)```", text, re.S)[1])
    shell = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    path = {"PATH": f"{TOOL.parent}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-ec", shell], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == re.search(r"```text\n(.*?)```", text, re.S)[1]


ALL_MODES = [(rounding, overflow) for rounding in ROUNDINGS for overflow in OVERFLOWS]
# In this smaller set, each rounding mode occurs once, and each overflow mode once or twice.
SOME_MODES = [(rounding, OVERFLOWS[number % len(OVERFLOWS)]) for number, rounding in enumerate(ROUNDINGS)]


@pytest.mark.parametrize("rounding, overflow", ALL_MODES if FULL else SOME_MODES)
def test_fixed_point_design_in_each_mode_equals_exact_fractions(tmp_path, rounding, overflow):
    """The results of the integer graph equal exact numbers in every mode. Some results are ties, and some are out of
    range."""
    (tmp_path / "scale.mlir").write_text(
        """func.func @main(%x: tensor<128xf32> {tw.name = "x"}) -> (tensor<128xf32> {tw.name = "y"}) {
  %c = tw.constant dense<0.84375> : tensor<f32>
  %y = tw.mul %x, %c : (tensor<128xf32>, tensor<f32>) -> tensor<128xf32>
  return %y : tensor<128xf32>
}
"""
    )
    formats = ["--fixed", "12,4", "--fixed", "x=8,4", "--fixed", f"y=5,0,{rounding},{overflow}"]
    subprocess.run([TOOL, "compile", "scale.mlir", "--target=hls", *formats, "-o", "design"], cwd=tmp_path, check=True, timeout=100)
    data = tmp_path / "design" / "data"
    given, got = ([int.from_bytes([byte], signed=True) for byte in (data / name).read_bytes()] for name in ("input_0.bin", "output_0.bin"))
    y = Format(5, 0, True, rounding, overflow)
    exact = [Fraction(bits, 16) * Fraction(27, 32) for bits in given]
    assert got == [y.assign(value) for value in exact]
    scaled = [value * 32 for value in exact]
    assert any(value.denominator == 2 for value in scaled) and any(abs(value) > 17 for value in scaled)
