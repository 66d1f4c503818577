// Attention of 16 tokens with two heads of size 8.
func.func @main(%q: tensor<1x2x16x8xf32> {tw.name = "q"},
                %k: tensor<1x2x16x8xf32> {tw.name = "k"},
                %v: tensor<1x2x16x8xf32> {tw.name = "v"})
    -> (tensor<1x2x16x8xf32> {tw.name = "y"}) {
  %y, %lse = tw.attention %q, %k, %v {scale = 0.35355338 : f64} : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32> -> tensor<1x2x16x8xf32>, tensor<1x2x16xf32>
  return %y : tensor<1x2x16x8xf32>
}
