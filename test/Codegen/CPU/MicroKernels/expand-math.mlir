// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-expand-math))' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-expand-math{avx512=true}))' \
// RUN:   | FileCheck %s --check-prefix=AVX512
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-expand-math{bf16-denormals=true}))' \
// RUN:   | FileCheck %s --check-prefix=DENORMALS

// exp(x) is 2^n exp(r). The code clamps x to a range, rounds n to an even integer by adding a large constant, computes
// r in two steps, evaluates a polynomial of degree 8, and multiplies the result twice by 2^(n/2), whose bits are
// computed from n. With AVX-512, an instruction rounds n, the polynomial has degree 6, and vscalefps multiplies by 2^n.
// If x is below -104, exp(x) rounds to 0. A select (with AVX-512, the mask of vscalefps) sets these results to 0, so that
// no instruction computes a result that underflows.
// CHECK-LABEL: func.func @exp
// CHECK: %[[KEEP:.*]] = arith.cmpf uge
// CHECK-COUNT-2: arith.select
// CHECK-COUNT-11: math.fma
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.select %[[KEEP]]
// CHECK-NEXT: return
// AVX512-LABEL: func.func @exp
// AVX512: %[[KEEP:.*]] = arith.cmpf uge
// AVX512: math.roundeven
// AVX512-COUNT-8: math.fma
// AVX512: %[[BITS:.*]] = vector.bitcast %[[KEEP]] : vector<16xi1> to vector<1xi16>
// AVX512: %[[MASK:.*]] = vector.extract %[[BITS]][0]
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %{{.*}}, %{{.*}}, %[[MASK]]
// AVX512-NEXT: return
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// The intrinsic for vscalefps has no two-dimensional operands such as 4x16 lanes, so the scale is computed from the
// bits of n.
// AVX512-LABEL: func.func @exp_of_a_tile
// AVX512-NOT: llvm.call_intrinsic
// AVX512: return
func.func @exp_of_a_tile(%x: vector<4x16xf32>) -> vector<4x16xf32> {
  %y = math.exp %x : vector<4x16xf32>
  return %y : vector<4x16xf32>
}

// CHECK-LABEL: func.func @erf
// CHECK-NOT: scf.if
// CHECK-NOT: arith.divf
// CHECK: math.copysign
func.func @erf(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.erf %x : vector<8xf32>
  return %y : vector<8xf32>
}

// The code of tanh has one approximate division, and no branch.
// CHECK-LABEL: func.func @tanh
// CHECK: arith.divf {{.*}} fastmath<ninf,arcp> : f32
// CHECK: math.copysign
func.func @tanh(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  return %y : f32
}

// The division of sigmoid is approximated with vrcp14ps if the CPU supports this instruction.
// CHECK-LABEL: func.func @sigmoid
// CHECK: arith.divf %{{.*}}, %{{.*}} : vector<16xf32>
// AVX512-LABEL: func.func @sigmoid
// AVX512: arith.divf {{.*}} fastmath<ninf,arcp>
// AVX512: arith.select
func.func @sigmoid(%x: vector<16xf32>) -> vector<16xf32> {
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.negf %x : vector<16xf32>
  %1 = math.exp %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.divf %one, %2 : vector<16xf32>
  return %3 : vector<16xf32>
}

// If the operand of any lane is large, the math library computes the whole vector.
// CHECK-LABEL: func.func @sin
// CHECK: %[[ANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ANY]]
// CHECK: scf.for
// CHECK: math.sin %{{.*}} : f64
// CHECK: else
func.func @sin(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.sin %x : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func.func @sincos
// CHECK-NOT: math.sincos
// CHECK: return
func.func @sincos(%x: f32) -> (f32, f32) {
  %s, %c = math.sincos %x : f32
  return %s, %c : f32, f32
}

// CHECK-LABEL: func.func @square
// CHECK: %[[Y:.*]] = arith.mulf %[[X:.*]], %[[X]] : vector<16xf32>
// CHECK-NEXT: return %[[Y]]
func.func @square(%x: vector<16xf32>) -> vector<16xf32> {
  %two = arith.constant dense<2.0> : vector<16xf32>
  %y = math.powf %x, %two : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func.func @fpowi
// CHECK: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf64>
// CHECK: arith.truncf
func.func @fpowi(%x: vector<16xf32>, %n: vector<16xi32>) -> vector<16xf32> {
  %y = math.fpowi %x, %n : vector<16xf32>, vector<16xi32>
  return %y : vector<16xf32>
}

// The pass does not change functions for which the CPU has instructions.
// CHECK-LABEL: func.func @unchanged
// CHECK: math.sqrt
// CHECK: math.floor
// CHECK: math.roundeven
func.func @unchanged(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.sqrt %x : vector<16xf32>
  %1 = math.floor %0 : vector<16xf32>
  %2 = math.roundeven %1 : vector<16xf32>
  return %2 : vector<16xf32>
}

// For vectors of f64, the polynomial of exp has degree 11. The scale is applied by two products with powers of two, or
// by vscalefpd, which is executed twice for a vector of 16 elements.
// CHECK-LABEL: func.func @exp_double
// CHECK: %[[KEEP:.*]] = arith.cmpf uge, {{.*}} : vector<8xf64>
// CHECK: math.roundeven
// CHECK-COUNT-13: math.fma
// CHECK-NOT: math.exp
// CHECK: arith.select %[[KEEP]]
// CHECK-NEXT: return
// AVX512-LABEL: func.func @exp_double
// AVX512-COUNT-13: math.fma
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"({{.*}}) : (vector<8xf64>, vector<8xf64>, vector<8xf64>, i8, i32)
// AVX512-NEXT: return
func.func @exp_double(%x: vector<8xf64>) -> vector<8xf64> {
  %y = math.exp %x : vector<8xf64>
  return %y : vector<8xf64>
}

// AVX512-LABEL: func.func @exp_of_two
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"
// AVX512-NEXT: vector.shuffle
// AVX512-NEXT: return
func.func @exp_of_two(%x: vector<16xf64>) -> vector<16xf64> {
  %y = math.exp %x : vector<16xf64>
  return %y : vector<16xf64>
}

// CHECK-LABEL: func.func @tanh_double
// CHECK-NOT: math.tanh
// CHECK-COUNT-1: arith.divf {{.*}} : vector<4xf64>
// CHECK-NOT: arith.divf
// CHECK: math.copysign
func.func @tanh_double(%x: vector<4xf64>) -> vector<4xf64> {
  %y = math.tanh %x : vector<4xf64>
  return %y : vector<4xf64>
}

// CHECK-LABEL: func.func @sin_double
// CHECK: %[[LARGE:.*]] = arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<2x4xf64>
// CHECK: %[[FLAT:.*]] = vector.shape_cast %[[LARGE]] : vector<2x4xi1> to vector<8xi1>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[FLAT]]
// CHECK: scf.if %[[ANY]]
// CHECK: scf.for
// CHECK-NOT: arith.extf
// CHECK: math.sin %{{.*}} : f64
// CHECK: else
// CHECK-NOT: math.sin
// CHECK: return
func.func @sin_double(%x: vector<2x4xf64>) -> vector<2x4xf64> {
  %y = math.sin %x : vector<2x4xf64>
  return %y : vector<2x4xf64>
}

// A function of f64 vectors for which the pass has no formula is computed lane by lane. The pass does not change
// functions of f64 scalars, which --tw-host-lower-to-llvm later lowers to calls of libm.
// CHECK-LABEL: func.func @power_double
// CHECK: %[[A:.*]] = vector.extract %[[X:.*]][0] : f64
// CHECK: math.powf %[[A]], %{{.*}} : f64
// CHECK: %[[B:.*]] = vector.extract %[[X]][1] : f64
// CHECK: math.powf %[[B]], %{{.*}} : f64
// CHECK-NOT: math.powf {{.*}} vector
// CHECK: return
func.func @power_double(%x: vector<2xf64>, %y: vector<2xf64>) -> vector<2xf64> {
  %0 = math.powf %x, %y : vector<2xf64>
  return %0 : vector<2xf64>
}

// CHECK-LABEL: func.func @scalar_double
// CHECK-NEXT: math.exp %{{.*}} : f64
// CHECK-NEXT: math.rsqrt
// CHECK-NEXT: arith.remf
// CHECK-NEXT: return
func.func @scalar_double(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  %1 = math.rsqrt %0 : f64
  %2 = arith.remf %0, %1 : f64
  return %2 : f64
}

// CHECK-LABEL: func.func @root_double
// CHECK: %[[ROOT:.*]] = math.sqrt %{{.*}} : vector<4xf64>
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[ROOT]] : vector<4xf64>
// CHECK: math.sqrt %[[INVERSE]]
func.func @root_double(%x: vector<4xf64>) -> vector<4xf64> {
  %half = arith.constant dense<0.5> : vector<4xf64>
  %0 = math.rsqrt %x : vector<4xf64>
  %1 = math.powf %0, %half : vector<4xf64>
  return %1 : vector<4xf64>
}

// A vector remainder (C's fmod) subtracts multiples of the divisor in f64 while any lane is not smaller than its
// divisor.
// CHECK-LABEL: func.func @remainder
// CHECK: %[[X:.*]] = math.absf %{{.*}} : vector<16xf64>
// CHECK: scf.while (%[[R:.*]] = %[[X]]) : (vector<16xf64>) -> vector<16xf64>
// CHECK: vector.reduction <or>
// CHECK: math.trunc
// CHECK: math.fma
// CHECK: math.copysign
// CHECK-NOT: arith.remf
func.func @remainder(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = arith.remf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

// In f64, the rounded quotient may be too large by one, which the code corrects. If any divisor is denormal, the math
// library computes the whole vector.
// CHECK-LABEL: func.func @remainder_double
// CHECK: scf.while {{.*}} : (vector<8xf64>) -> vector<8xf64>
// CHECK: vector.reduction <or>
// CHECK: math.trunc
// CHECK: %[[LEFT:.*]] = math.fma
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[LEFT]]
// CHECK: %[[BACK:.*]] = arith.addf %[[LEFT]]
// CHECK: arith.select %[[BELOW]], %[[BACK]], %[[LEFT]]
// CHECK: math.copysign
// CHECK: scf.if
// CHECK: arith.remf %{{.*}}, %{{.*}} : f64
func.func @remainder_double(%x: vector<8xf64>, %y: vector<8xf64>) -> vector<8xf64> {
  %0 = arith.remf %x, %y : vector<8xf64>
  return %0 : vector<8xf64>
}

// f64 is rounded to bf16 through f32. With the option bf16-denormals, denormals are not flushed to zero.
// CHECK-LABEL: func.func @double_to_bf16
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
// DENORMALS-LABEL: func.func @double_to_bf16
// DENORMALS: %[[SINGLE:.*]] = arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
// DENORMALS: arith.bitcast %[[SINGLE]] : vector<8xf32> to vector<8xi32>
// DENORMALS: arith.select
// DENORMALS-NOT: arith.truncf
// DENORMALS: arith.bitcast %{{.*}} : vector<8xi16> to vector<8xbf16>
func.func @double_to_bf16(%x: vector<8xf64>) -> vector<8xbf16> {
  %0 = arith.truncf %x : vector<8xf64> to vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xbf16>
  return %1 : vector<8xbf16>
}
