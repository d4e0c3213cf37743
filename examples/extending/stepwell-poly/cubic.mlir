tir.func @main("X" %X: memref<4x8xf32>, "Y" %Y: memref<4x8xf32>) {
  poly.eval %X to %Y, [1.0 : f32, 0.5 : f32, 0.0 : f32, 2.0 : f32] : memref<4x8xf32>
}
