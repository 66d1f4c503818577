// A dot product of two long vectors. The loop of its sum is unrolled.
func.func @main(%x: tensor<1x256xi8> {tw.name = "x"}, %y: tensor<256x1xi8> {tw.name = "y"}) -> (tensor<1x1xi32> {tw.name = "z"}) {
  %z = tw.matmul %x, %y : (tensor<1x256xi8>, tensor<256x1xi8>) -> tensor<1x1xi32>
  return %z : tensor<1x1xi32>
}
