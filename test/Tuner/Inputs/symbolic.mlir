#rows = affine_map<()[s0] -> (s0, 256)>
#sums = affine_map<()[s0] -> (s0, 192)>
func.func @main(%n: index {tw.symbol = "s0", tw.min = 1, tw.max = 300}, %x: tensor<?x256xf32, #rows> {tw.name = "x"},
                %w: tensor<256x192xf32> {tw.name = "w", tw.static}) -> (tensor<?x192xf32, #sums> {tw.name = "y"}) {
  %h = tw.matmul %x, %w : (tensor<?x256xf32, #rows>, tensor<256x192xf32>) -> tensor<?x192xf32, #sums>
  %s = tw.softmax %h {dim = 1 : i64} : tensor<?x192xf32, #sums> -> tensor<?x192xf32, #sums>
  return %s : tensor<?x192xf32, #sums>
}
