// RUN: stepwell-opt %s -p split-vectors | filecheck %s
// RUN: stepwell-opt %s -p "split-vectors{whole=4}" | filecheck %s --check-prefix=NARROW
// RUN: stepwell-opt %s -p "split-vectors{masks=true}" | filecheck %s --check-prefix=MASKS

// Each part is loaded and stored at its first lane; the lanes of a mask are counted from there.
func.func @tile(%a: memref<100xf32>, %i: index, %x: f32, %n: index) {
  %v = vector.load %a[%i] : memref<100xf32>, vector<48xf32>
  %w = vector.broadcast %x : f32 to vector<48xf32>
  %s = arith.addf %v, %w fastmath<contract> : vector<48xf32>
  %m = vector.create_mask %n : vector<48xi1>
  vector.maskedstore %a[%i], %m, %s : memref<100xf32>, vector<48xi1>, vector<48xf32>
  func.return
}
// CHECK:       func.func @tile(
// CHECK-NEXT:    %v = vector.load %a[%i] : memref<100xf32>, vector<32xf32>
// CHECK-NEXT:    %[[C:.+]] = arith.constant 32 : index
// CHECK-NEXT:    %[[J:.+]] = arith.addi %i, %[[C]] : index
// CHECK-NEXT:    %v_1 = vector.load %a[%[[J]]] : memref<100xf32>, vector<16xf32>
// CHECK-NEXT:    %w = vector.broadcast %x : f32 to vector<32xf32>
// CHECK-NEXT:    %w_1 = vector.broadcast %x : f32 to vector<16xf32>
// CHECK-NEXT:    %s = arith.addf %v, %w fastmath<contract> : vector<32xf32>
// CHECK-NEXT:    %s_1 = arith.addf %v_1, %w_1 fastmath<contract> : vector<16xf32>
// CHECK-NEXT:    %m = vector.create_mask %n : vector<32xi1>
// CHECK:         %[[REST:.+]] = arith.subi %n, %{{.+}} : index
// CHECK-NEXT:    %m_1 = vector.create_mask %[[REST]] : vector<16xi1>
// CHECK-NEXT:    vector.maskedstore %a[%i], %m, %s : memref<100xf32>, vector<32xi1>, vector<32xf32>
// CHECK:         vector.maskedstore %a[%{{.+}}], %m_1, %s_1 : memref<100xf32>, vector<16xi1>, vector<16xf32>
// CHECK-NEXT:    func.return

// A reduction goes through the parts in order; single lanes belong to one part; a shuffle gets the whole vector.
func.func @lanes(%a: memref<100xf32>, %i: index) -> f32 {
  %v = vector.load %a[%i] : memref<100xf32>, vector<20xf32>
  %e = vector.extract %v[17] : f32 from vector<20xf32>
  %u = vector.insert %e, %v[2] : f32 into vector<20xf32>
  %s = vector.shuffle %u, %u [19, 0] : vector<20xf32>, vector<20xf32>
  vector.store %s, %a[%i] : memref<100xf32>, vector<2xf32>
  %r = vector.reduction <add>, %u : vector<20xf32> into f32
  func.return %r : f32
}
// CHECK:       func.func @lanes(
// CHECK:         %v_1 = vector.load {{.*}} vector<4xf32>
// CHECK-NEXT:    %e = vector.extract %v_1[1] : f32 from vector<4xf32>
// CHECK-NEXT:    %u = vector.insert %e, %v [2] : f32 into vector<16xf32>
// CHECK-NEXT:    %[[WHOLE:.+]] = vector.shuffle %u, %v_1 [{{.*}}] : vector<16xf32>, vector<4xf32>
// CHECK-NEXT:    %s = vector.shuffle %[[WHOLE]], %[[WHOLE]] [19, 0] : vector<20xf32>, vector<20xf32>
// CHECK:         %[[R:.+]] = vector.reduction <add>, %u : vector<16xf32> into f32
// CHECK-NEXT:    %r = vector.reduction <add>, %v_1, %[[R]] : vector<4xf32> into f32

// Vectors of up to 16 lanes, and powers of two, are whole.
func.func @whole(%a: memref<100xf32>, %i: index) {
  %v = vector.load %a[%i] : memref<100xf32>, vector<64xf32>
  %w = vector.load %a[%i] : memref<100xf32>, vector<7xf32>
  vector.store %v, %a[%i] : memref<100xf32>, vector<64xf32>
  vector.store %w, %a[%i] : memref<100xf32>, vector<7xf32>
  func.return
}
// CHECK:       func.func @whole(
// CHECK-NEXT:    %v = vector.load {{.*}} vector<64xf32>
// CHECK-NEXT:    %w = vector.load {{.*}} vector<7xf32>
// CHECK-NEXT:    vector.store
// CHECK-NEXT:    vector.store
// NARROW:      func.func @whole(
// NARROW:        vector<64xf32>
// NARROW:        vector<4xf32>
// NARROW:        vector<2xf32>
// NARROW:        vector<1xf32>

// With masks, a part is wider than its lanes. Its accesses exclude the dead lanes; a reduction gets the lanes alone.
func.func @masks(%a: memref<100xf32>, %b: memref<100xf32>, %i: index) -> f32 {
  %v = vector.load %a[%i] : memref<100xf32>, vector<7xf32>
  %w = math.sqrt %v : vector<7xf32>
  vector.store %w, %b[%i] : memref<100xf32>, vector<7xf32>
  %e = math.log %w : vector<7xf32>
  %r = vector.reduction <add>, %e : vector<7xf32> into f32
  func.return %r : f32
}
// MASKS:       func.func @masks(
// MASKS-NEXT:    %[[M:.+]] = arith.constant dense<[true, true, true, true, true, true, true, false]> : vector<8xi1>
// MASKS-NEXT:    %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// MASKS-NEXT:    %v = vector.maskedload %a[%i], %[[M]], %[[ZERO]] : {{.*}} into vector<8xf32>
// MASKS-NEXT:    %w = math.sqrt %v : vector<8xf32>
// MASKS-NEXT:    %[[LANES:.+]] = vector.shuffle %w, %w [0, 1, 2, 3, 4, 5, 6] : vector<8xf32>, vector<8xf32>
// MASKS:         vector.maskedstore %b[%i], %{{.+}}, %w : memref<100xf32>, vector<8xi1>, vector<8xf32>
// MASKS-NEXT:    %e = math.log %[[LANES]] : vector<7xf32>
// MASKS:         %r = vector.reduction <add>, %{{.+}} : vector<7xf32> into f32

// A buffer that is loaded and stored has no masked accesses: 30 lanes are parts of powers of two.
func.func @update(%a: memref<100xf32>, %i: index) {
  %v = vector.load %a[%i] : memref<100xf32>, vector<30xf32>
  vector.store %v, %a[%i] : memref<100xf32>, vector<30xf32>
  func.return
}
// MASKS:       func.func @update(
// MASKS-NOT:     masked
// MASKS:         vector.store %{{.+}}, %a[%{{.+}}] : memref<100xf32>, vector<2xf32>

// An accumulator in registers is stored without dead lanes.
func.func @registers(%a: memref<100xf32>, %i: index, %z: vector<7xf32>) -> vector<7xf32> {
  %c0 = arith.constant 0 : index
  %acc = memref.alloca() : memref<7xf32>
  %v = vector.load %a[%i] : memref<100xf32>, vector<7xf32>
  vector.store %v, %acc[%c0] : memref<7xf32>, vector<7xf32>
  %w = vector.load %acc[%c0] : memref<7xf32>, vector<7xf32>
  func.return %w : vector<7xf32>
}
// MASKS:       func.func @registers(
// MASKS:         %v = vector.maskedload %a[%i]
// MASKS-NEXT:    %[[LANES:.+]] = vector.shuffle %v, %v [0, 1, 2, 3, 4, 5, 6]
// MASKS-NEXT:    vector.store %[[LANES]], %acc[%c0] : memref<7xf32>, vector<7xf32>
// MASKS-NEXT:    %{{.+}} = vector.load %acc[%c0] : memref<7xf32>, vector<7xf32>
