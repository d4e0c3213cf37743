// RUN: stepwell-opt %s -p split-vectors | filecheck %s
// RUN: stepwell-opt %s -p "split-vectors{whole=4}" | filecheck %s --check-prefix=NARROW

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
