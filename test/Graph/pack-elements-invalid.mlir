// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-pack-elements))' --split-input-file --verify-diagnostics

func.func @reads(%x: tensor<4x16xf4E2M1FN>) -> tensor<4x16xf32> {
  // expected-error @below {{elements of float4_e2m1 can be passed, viewed, copied and returned, but not computed with}}
  %0 = tw.cast %x : (tensor<4x16xf4E2M1FN>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @writes(%x: tensor<4x16xf32>) -> tensor<4x16xf4E2M1FN> {
  // expected-error @below {{elements of float4_e2m1 can be passed}}
  %0 = tw.cast %x : (tensor<4x16xf32>) -> tensor<4x16xf4E2M1FN>
  return %0 : tensor<4x16xf4E2M1FN>
}

// -----

// expected-error @below {{whose number of bytes is not known to be whole; make the last size even}}
func.func @unknown_bytes(%n: index {tw.symbol = "n"}, %x: tensor<?xi4, affine_map<()[s0] -> (s0)>>) -> tensor<?xi4, affine_map<()[s0] -> (s0)>> {
  return %x : tensor<?xi4, affine_map<()[s0] -> (s0)>>
}
