// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// Ops on bf16 and f16 are computed in f32 and rounded once. The flag fastmath<contract> allows fusion to remove these
// roundings.
// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$UNIT:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func @add_broadcast
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: attrs = {tw.op = "add"}
// CHECK: %[[A:.*]] = arith.extf %{{.*}} fastmath<contract> : bf16 to f32
// CHECK: %[[B:.*]] = arith.extf %{{.*}} fastmath<contract> : bf16 to f32
// CHECK: %[[C:.*]] = arith.addf %[[A]], %[[B]] fastmath<contract> : f32
// CHECK: arith.truncf %[[C]] fastmath<contract> : f32 to bf16
func.func @add_broadcast(%x: tensor<4x8xbf16>, %b: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %0 = tw.add %x, %b : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// Dimensions of size 1 that are broadcast are read at index 0; splat constants are constants in the body.
// CHECK-LABEL: func @unit_and_scalar
// CHECK: linalg.generic {indexing_maps = [#[[$UNIT]], #[[$ID]]]
// CHECK: arith.constant 2.000000e+00 : f32
func.func @unit_and_scalar(%x: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %c = tw.constant dense<2.0> : tensor<f32>
  %0 = tw.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %1 = tw.mul %0, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// f64 is converted to f16 and bf16 through f32, as in torch. Few CPUs have an instruction for a direct conversion, and
// the JIT resolves no library function for it.
// CHECK-LABEL: func @double_to_f16
// CHECK: %[[F:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %[[F]] : f32 to f16
func.func @double_to_f16(%x: tensor<8xf64>) -> tensor<8xf16> {
  %0 = tw.cast %x : (tensor<8xf64>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// CHECK-LABEL: func @double_to_bf16
// CHECK: %[[F:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %[[F]] : f32 to bf16
func.func @double_to_bf16(%x: tensor<8xf64>) -> tensor<8xbf16> {
  %0 = tw.cast %x : (tensor<8xf64>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// A cast in the user's graph always rounds. Therefore its truncf and extf do not have the flag fastmath<contract>, with
// which the fusion of ops removes the rounding between them.
// CHECK-LABEL: func @user_cast
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
func.func @user_cast(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tw.cast %x : (tensor<8xf32>) -> tensor<8xbf16>
  %1 = tw.cast %0 : (tensor<8xbf16>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Conversions to integers, comparisons and floor must read rounded elements. Therefore the extf of their operand does
// not have the flag fastmath<contract>, and fusion does not remove the rounding.
// CHECK-LABEL: func @discrete
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.fptosi
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.cmpf ogt
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: math.floor
func.func @discrete(%x: tensor<8xbf16>) -> (tensor<8xi32>, tensor<8xi1>, tensor<8xbf16>) {
  %c = tw.constant dense<3.0> : tensor<bf16>
  %0 = tw.mul %x, %c : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xbf16>
  %1 = tw.cast %0 : (tensor<8xbf16>) -> tensor<8xi32>
  %2 = tw.gt %0, %c : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xi1>
  %3 = tw.floor %0 : (tensor<8xbf16>) -> tensor<8xbf16>
  return %1, %2, %3 : tensor<8xi32>, tensor<8xi1>, tensor<8xbf16>
}

// Booleans are stored as bytes with the values 0 and 1.
// CHECK-LABEL: func @booleans(%{{.*}}: tensor<8xi8>, %{{.*}}: tensor<8xf32>) -> tensor<8xi8>
// CHECK: arith.cmpf olt
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: arith.cmpi ne
// CHECK: arith.andi %{{.*}} : i1
// CHECK: arith.extui %{{.*}} : i1 to i8
func.func @booleans(%m: tensor<8xi1>, %x: tensor<8xf32>) -> tensor<8xi1> {
  %c = tw.constant dense<0.0> : tensor<f32>
  %0 = tw.lt %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  %1 = tw.logical_and %m, %0 : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return %1 : tensor<8xi1>
}

// Unsigned bytes are compared and divided as unsigned integers. tw_tile.divisor replaces a divisor of 0, so that the
// division cannot trap.
// CHECK-LABEL: func @unsigned_bytes
// CHECK: arith.maxui
// CHECK: %[[SAFE:.*]] = tw_tile.divisor %{{.*}} : i8
// CHECK: arith.divui %{{.*}}, %[[SAFE]] : i8
func.func @unsigned_bytes(%x: tensor<8xui8>, %y: tensor<8xui8>) -> tensor<8xui8> {
  %0 = tw.maximum %x, %y : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
  %1 = tw.div_trunc %0, %y : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
  return %1 : tensor<8xui8>
}

// CHECK-LABEL: func @float_to_int
// CHECK: %[[IN:.*]] = arith.andi
// CHECK: %[[SAFE:.*]] = arith.select %[[IN]]
// CHECK: %[[N:.*]] = arith.fptosi %[[SAFE]] : f32 to i32
// CHECK: arith.select %[[IN]], %[[N]], %{{.*}} : i32
func.func @float_to_int(%x: tensor<8xf32>) -> tensor<8xi32> {
  %0 = tw.cast %x : (tensor<8xf32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// CHECK-LABEL: func @square
// CHECK: arith.mulf %[[X:.*]], %[[X]] fastmath<contract> : f32
// CHECK-NOT: math.powf
func.func @square(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = tw.constant dense<2.0> : tensor<f32>
  %0 = tw.pow %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// uint8 is unsigned, as in torch; the difference of a byte and the zero point is exact in f32.
// CHECK-LABEL: func @dequantize
// CHECK: arith.uitofp %{{.*}} : i8 to f32
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK: arith.subf
// CHECK: arith.mulf
func.func @dequantize(%x: tensor<4x8xui8>, %s: tensor<8xf32>, %z: tensor<8xi32>) -> tensor<4x8xf32> {
  %0 = tw.dequantize %x, %s, %z : (tensor<4x8xui8>, tensor<8xf32>, tensor<8xi32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The rounded value is clamped to the range from `low` to `high`, and NaN is converted to 0.
// CHECK-LABEL: func @quantize
// CHECK: math.roundeven
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: arith.maxnumf %[[SUM]]
// CHECK: arith.minnumf
// CHECK: arith.cmpf ord, %[[SUM]], %[[SUM]]
// CHECK: arith.fptosi {{.*}} : f32 to i32
// CHECK: arith.trunci {{.*}} : i32 to i8
func.func @quantize(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %z: tensor<f32>) -> tensor<4x8xui8> {
  %0 = tw.quantize %x, %s, %z {low = 0 : i64, high = 255 : i64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<4x8xui8>
  return %0 : tensor<4x8xui8>
}

// The condition is an i1 in the body. The bf16 value is widened to f32 for the op. The conversion of the result to bf16
// is exact.
// CHECK-LABEL: func @require
// CHECK: %[[X:.*]] = arith.extf
// CHECK: %[[R:.*]] = tw_tile.require %{{.*}}, %[[X]] "x is at most 1" : i1, f32
// CHECK: arith.truncf %[[R]]
func.func @require(%holds: tensor<4x8xi1>, %x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = tw.require %holds, %x {message = "x is at most 1"} : (tensor<4x8xi1>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}
