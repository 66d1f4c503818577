// RUN: tilewright-opt %s -split-input-file --tw-fixed-point='formats="8,3 fc=10,4,AP_TRN sum=6,2,AP_RND_CONV"' | FileCheck %s --check-prefixes=CHECK,DOWN
// RUN: tilewright-opt %s -split-input-file --tw-fixed-point='formats="8,3 fc=10,4,AP_RND_INF,AP_WRAP sum=6,2,AP_TRN_ZERO,AP_SAT_ZERO"' | FileCheck %s --check-prefixes=CHECK,AWAY

// A product has the width that its widest column needs: 256 * 128 + 192 * 127 = 57152 takes 17 bits. Ten bits suffice
// for the shifted product, so nothing saturates. The weight has ten bits, with as many fractional bits as its largest
// magnitude, 1.0, allows.
// CHECK: verdict = "cannot overflow"
// CHECK-LABEL: func.func @main(%arg0: tensor<4x2xi8> {tw.name = "x"}, %arg1: tensor<1xi6> {tw.name = "sum"}) -> tensor<4x2xi10>
// CHECK-DAG: %[[W:.*]] = tw.constant dense<{{\[\[}}128, -256], [64, 192]]> : tensor<2x2xi10>
// CHECK: %[[X:.*]] = tw.cast %arg0 : (tensor<4x2xi8>) -> tensor<4x2xi10>
// CHECK: %[[M:.*]] = tw.matmul %[[X]], %{{.*}} : (tensor<4x2xi10>, tensor<2x2xi10>) -> tensor<4x2xi17>
// CHECK: %[[R:.*]] = tw.relu %[[M]]
// DOWN-DAG: %[[SEVEN:.*]] = tw.constant dense<7> : tensor<i17>
// DOWN: %[[S:.*]] = tw.shift_right %[[R]], %[[SEVEN]]
// AWAY: tw.shift_right %[[R]], %{{.*}}
// AWAY: tw.add
// AWAY: tw.add
// AWAY: tw.shift_right
// CHECK-NOT: tw.minimum
// CHECK: tw.cast %{{.*}} : (tensor<4x2xi17>) -> tensor<4x2xi10>
module {
  func.func @main(%w: tensor<2x2xf32> {tw.name = "fc.weight", tw_hls.value = dense<[[0.5, -1.0], [0.25, 0.75]]> : tensor<2x2xf32>}, %x: tensor<4x2xf32> {tw.name = "x"},
                  %p: tensor<1xf32> {tw.name = "sum"}) -> tensor<4x2xf32> {
    %m = tw.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %r = tw.relu %m : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %r : tensor<4x2xf32>
  }
}

// -----

// A value computed only from weights is a constant. A power of two as a factor only moves the binary point. A result
// has the format that the option specifies for the result's name.
// CHECK: has = 2 : i64, layer = "", needs = {{[0-9]+}} : i64
// DOWN-SAME: saturates outside of
// AWAY-SAME: becomes 0 outside of
// CHECK-LABEL: func.func @main(%arg0: tensor<8xi8> {tw.name = "x"}, %arg1: tensor<2xi10>
// CHECK-SAME: -> (tensor<8xi6> {tw.name = "sum"})
// CHECK-NOT: tw.sqrt
// CHECK: tw.add %{{.*}}, %{{.*}} : (tensor<8xi{{[0-9]+}}>, tensor<8xi{{[0-9]+}}>) -> tensor<8xi{{[0-9]+}}>
// DOWN: tw.bitwise_and
// DOWN: tw.minimum
// DOWN: tw.maximum
// AWAY: tw.where
// CHECK: tw.cast %{{.*}} -> tensor<8xi6>
module {
  func.func @main(%x: tensor<8xf32> {tw.name = "x"}, %fc: tensor<2xf32> {tw.name = "fc"}) -> (tensor<8xf32> {tw.name = "sum"}) {
    %two = tw.constant dense<2.0> : tensor<f32>
    %four = tw.constant dense<4.0> : tensor<8xf32>
    %root = tw.sqrt %four : (tensor<8xf32>) -> tensor<8xf32>
    %double = tw.mul %x, %two : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %a = tw.add %double, %root : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %b = tw.add %a, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %b : tensor<8xf32>
  }
}
