// Two products with a ReLU in between. The first result is shifted and converted to bytes.
func.func @main(%x: tensor<4x16xi8> {tw.name = "x"}, %u: tensor<16x16xi8> {tw.name = "u"}, %v: tensor<16x16xi8> {tw.name = "v"}) -> (tensor<4x16xi32> {tw.name = "y"}) {
  %six = tw.constant dense<6> : tensor<i32>
  %m = tw.matmul %x, %u : (tensor<4x16xi8>, tensor<16x16xi8>) -> tensor<4x16xi32>
  %r = tw.relu %m : (tensor<4x16xi32>) -> tensor<4x16xi32>
  %s = tw.shift_right %r, %six : (tensor<4x16xi32>, tensor<i32>) -> tensor<4x16xi32>
  %b = tw.cast %s : (tensor<4x16xi32>) -> tensor<4x16xi8>
  %y = tw.matmul %b, %v : (tensor<4x16xi8>, tensor<16x16xi8>) -> tensor<4x16xi32>
  return %y : tensor<4x16xi32>
}
