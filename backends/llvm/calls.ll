; The code of builtin functions of Python that call native functions. The first object of their `self`, bytes, consists of
; the words that `runtime/python_calls.py` describes, the second is called with a status other than 0 and the arguments,
; and raises an exception.

@stepwell.ndarray = external global i8
@stepwell.int = external global i8
@stepwell.float = external global i8
@stepwell.none = external global i8
@stepwell.true = external global i8
@stepwell.false = external global i8
@stepwell.make_stand_ins = external global ptr ; the code of `tensors.ll`, null until a call had a tensor

declare double @llvm.fabs.f64(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)


; Calls a function with arguments that match its parameters exactly, or of which stand-ins do. Calls the third object of
; %self, a function of Python, with other arguments.
define ptr @stepwell.call_function(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind {
entry:
  %overflow = alloca i32
  %words = call ptr @stepwell.words(ptr %self)
  %count.word = getelementptr i64, ptr %words, i64 1
  %parameters = load i64, ptr %count.word
  %is.positional = icmp eq ptr %names, null
  %is.complete = icmp eq i64 %count, %parameters
  %is.usual = and i1 %is.positional, %is.complete
  br i1 %is.usual, label %prepare, label %convert
prepare:
  %slots.word = getelementptr i64, ptr %words, i64 2
  %slot.count = load i64, ptr %slots.word
  %slots.size = add i64 %slot.count, 1
  %slots = alloca i64, i64 %slots.size
  %spans.size = shl i64 %count, 1
  %spans = alloca i64, i64 %spans.size ; of each array the addresses of its first byte and after its last
  %first = getelementptr i64, ptr %words, i64 {header}
  br label %start
start:
  %objects = phi ptr [ %arguments, %prepare ], [ %space, %tensors ]
  br label %next
next:
  %n = phi i64 [ 0, %start ], [ %n.1, %passed ]
  %record = phi ptr [ %first, %start ], [ %record.1, %passed ]
  %slot = phi ptr [ %slots, %start ], [ %slot.1, %passed ]
  %is.end = icmp eq i64 %n, %count
  br i1 %is.end, label %pairs, label %argument
argument:
  %object.place = getelementptr ptr, ptr %objects, i64 %n
  %object = load ptr, ptr %object.place
  %type.field = getelementptr i8, ptr %object, i64 {type}
  %type = load ptr, ptr %type.field
  %kind = load i64, ptr %record
  %word.2 = getelementptr i64, ptr %record, i64 2
  %word.3 = getelementptr i64, ptr %record, i64 3
  switch i64 %kind, label %array [
    i64 {integer}, label %integer
    i64 {single}, label %float
    i64 {double}, label %float
  ]

integer:
  %is.int = icmp eq ptr %type, @stepwell.int
  br i1 %is.int, label %read.integer, label %other
read.integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %overflowed = load i32, ptr %overflow
  %is.long.long = icmp eq i32 %overflowed, 0
  %low = load i64, ptr %word.2
  %high = load i64, ptr %word.3
  %above = icmp sge i64 %whole, %low
  %below = icmp sle i64 %whole, %high
  %between = and i1 %above, %below
  %in.range = and i1 %between, %is.long.long
  store i64 %whole, ptr %slot
  br i1 %in.range, label %number, label %other

float:
  %is.float = icmp eq ptr %type, @stepwell.float
  br i1 %is.float, label %read.float, label %other
read.float:
  %real = call double @PyFloat_AsDouble(ptr %object)
  %is.double = icmp eq i64 %kind, {double}
  br i1 %is.double, label %store.double, label %round
store.double:
  store double %real, ptr %slot
  br label %number
round:
  %rounded = fptrunc double %real to float
  %exact = fpext float %rounded to double
  %magnitude = call double @llvm.fabs.f64(double %real)
  %exact.magnitude = call double @llvm.fabs.f64(double %exact)
  %is.infinite = fcmp oeq double %magnitude, 0x7FF0000000000000
  %becomes.infinite = fcmp oeq double %exact.magnitude, 0x7FF0000000000000
  store float %rounded, ptr %slot
  %is.representable = icmp eq i1 %is.infinite, %becomes.infinite
  br i1 %is.representable, label %number, label %other
number:
  %after.number = getelementptr i64, ptr %slot, i64 1
  br label %passed

array:
  %is.array = icmp eq ptr %type, @stepwell.ndarray
  br i1 %is.array, label %description, label %other
description:
  %dtype.field = getelementptr i8, ptr %object, i64 {dtype}
  %dtype = load ptr, ptr %dtype.field
  %dtype.expected = load ptr, ptr %word.2
  %is.dtype = icmp eq ptr %dtype, %dtype.expected
  %flags.field = getelementptr i8, ptr %object, i64 {flags}
  %flags = load i32, ptr %flags.field
  %mask = load i32, ptr %word.3
  %flags.place = getelementptr i32, ptr %word.3, i64 1
  %flags.expected = load i32, ptr %flags.place
  %flags.masked = and i32 %flags, %mask
  %are.flags = icmp eq i32 %flags.masked, %flags.expected
  %rank.field = getelementptr i8, ptr %object, i64 {rank}
  %rank.32 = load i32, ptr %rank.field
  %rank = zext i32 %rank.32 to i64
  %rank.word = getelementptr i64, ptr %record, i64 4
  %rank.expected = load i64, ptr %rank.word
  %is.rank = icmp eq i64 %rank, %rank.expected
  %fits.1 = and i1 %is.dtype, %are.flags
  %fits = and i1 %fits.1, %is.rank
  br i1 %fits, label %memory, label %other
memory:
  %data.field = getelementptr i8, ptr %object, i64 {data}
  %data = load i64, ptr %data.field
  %shape.field = getelementptr i8, ptr %object, i64 {shape}
  %shape = load ptr, ptr %shape.field
  %extents = getelementptr i64, ptr %record, i64 {buffer}
  %after.address = getelementptr i64, ptr %slot, i64 1
  %is.fixed = icmp eq i64 %kind, {fixed}
  br i1 %is.fixed, label %fixed, label %address

fixed:
  %fixed.word = getelementptr i64, ptr %record, i64 5
  %fixed.bytes = load i64, ptr %fixed.word
  %end.fixed = add i64 %data, %fixed.bytes
  store i64 %data, ptr %slot
  br label %fixed.axes
fixed.axes:
  %fixed.axis = phi i64 [ 0, %fixed ], [ %fixed.axis.1, %fixed.check ]
  %is.fixed.last = icmp eq i64 %fixed.axis, %rank
  br i1 %is.fixed.last, label %span, label %fixed.check
fixed.check:
  %fixed.axis.1 = add i64 %fixed.axis, 1
  %fixed.place = getelementptr i64, ptr %shape, i64 %fixed.axis
  %fixed.extent = load i64, ptr %fixed.place
  %fixed.expected.place = getelementptr i64, ptr %extents, i64 %fixed.axis
  %fixed.expected = load i64, ptr %fixed.expected.place
  %is.fixed.extent = icmp eq i64 %fixed.extent, %fixed.expected
  br i1 %is.fixed.extent, label %fixed.axes, label %other

address:
  %offset.word = getelementptr i64, ptr %record, i64 5
  %offset = load i64, ptr %offset.word
  %base = sub i64 %data, %offset
  store i64 %base, ptr %slot
  %alignment.word = getelementptr i64, ptr %record, i64 6
  %alignment = load i64, ptr %alignment.word
  %shift.word = getelementptr i64, ptr %record, i64 7
  %shift = load i64, ptr %shift.word
  %size = shl i64 1, %shift
  %is.any = icmp eq i64 %alignment, 1
  br i1 %is.any, label %axes, label %align
align:
  %past = urem i64 %data, %alignment
  %is.aligned = icmp eq i64 %past, 0
  br i1 %is.aligned, label %axes, label %other
axes:
  %axis = phi i64 [ 0, %address ], [ 0, %align ], [ %axis.1, %axis.check ]
  %extent.slot = phi ptr [ %after.address, %address ], [ %after.address, %align ], [ %extent.slot.1, %axis.check ]
  %bytes = phi i64 [ %size, %address ], [ %size, %align ], [ %bytes.1, %axis.check ]
  %is.last = icmp eq i64 %axis, %rank
  br i1 %is.last, label %layout, label %axis.check
axis.check: ; the slot of a static extent is that of the next number, or of the result
  %axis.1 = add i64 %axis, 1
  %extent.place = getelementptr i64, ptr %shape, i64 %axis
  %extent = load i64, ptr %extent.place
  %extent.word = getelementptr i64, ptr %extents, i64 %axis
  %extent.expected = load i64, ptr %extent.word
  store i64 %extent, ptr %extent.slot
  %is.dynamic = icmp slt i64 %extent.expected, 0
  %extent.next = getelementptr i64, ptr %extent.slot, i64 1
  %extent.slot.1 = select i1 %is.dynamic, ptr %extent.next, ptr %extent.slot
  %is.extent = icmp eq i64 %extent, %extent.expected
  %is.accepted = or i1 %is.dynamic, %is.extent
  %bytes.1 = mul i64 %bytes, %extent ; the product of the extents of an empty array may wrap around
  br i1 %is.accepted, label %axes, label %other
layout:
  %contiguous = load i32, ptr %flags.place
  %contiguous.flag = and i32 %contiguous, {contiguous}
  %is.strided = icmp eq i32 %contiguous.flag, 0
  br i1 %is.strided, label %strided, label %compact
compact:
  %end.compact = add i64 %data, %bytes
  br label %span

strided:
  %strides.field = getelementptr i8, ptr %object, i64 {strides}
  %strides = load ptr, ptr %strides.field
  %strides.expected = getelementptr i64, ptr %extents, i64 %rank
  %size.mask = sub i64 %size, 1
  %end.first = add i64 %data, %size
  br label %dimensions
dimensions:
  %dimension = phi i64 [ 0, %strided ], [ %dimension.1, %distance ]
  %stride.slot = phi ptr [ %extent.slot, %strided ], [ %stride.slot.1, %distance ]
  %begin = phi i64 [ %data, %strided ], [ %begin.1, %distance ]
  %end = phi i64 [ %end.first, %strided ], [ %end.1, %distance ]
  %is.complete.span = icmp eq i64 %dimension, %rank
  br i1 %is.complete.span, label %span, label %stride.check
stride.check:
  %dimension.1 = add i64 %dimension, 1
  %stride.place = getelementptr i64, ptr %strides, i64 %dimension
  %stride = load i64, ptr %stride.place
  %stride.word = getelementptr i64, ptr %strides.expected, i64 %dimension
  %stride.expected = load i64, ptr %stride.word
  %is.free = icmp eq i64 %stride.expected, {dynamic_stride}
  %odd.bytes = and i64 %stride, %size.mask
  %is.whole = icmp eq i64 %odd.bytes, 0
  %is.stride = icmp eq i64 %stride, %stride.expected
  %stride.fits = select i1 %is.free, i1 %is.whole, i1 %is.stride
  %elements.apart = ashr i64 %stride, %shift
  store i64 %elements.apart, ptr %stride.slot
  %stride.next = getelementptr i64, ptr %stride.slot, i64 1
  %stride.slot.1 = select i1 %is.free, ptr %stride.next, ptr %stride.slot
  br i1 %stride.fits, label %distance, label %other
distance:
  %length.place = getelementptr i64, ptr %shape, i64 %dimension
  %length = load i64, ptr %length.place
  %steps = sub i64 %length, 1
  %distance.bytes = mul i64 %steps, %stride
  %is.negative = icmp slt i64 %distance.bytes, 0
  %before = select i1 %is.negative, i64 %distance.bytes, i64 0
  %after = select i1 %is.negative, i64 0, i64 %distance.bytes
  %begin.1 = add i64 %begin, %before
  %end.1 = add i64 %end, %after
  br label %dimensions

span:
  %after.array = phi ptr [ %after.address, %fixed.axes ], [ %extent.slot, %compact ], [ %stride.slot, %dimensions ]
  %span.begin = phi i64 [ %data, %fixed.axes ], [ %data, %compact ], [ %begin, %dimensions ]
  %span.end = phi i64 [ %end.fixed, %fixed.axes ], [ %end.compact, %compact ], [ %end, %dimensions ]
  %span.number = shl i64 %n, 1
  %begin.place = getelementptr i64, ptr %spans, i64 %span.number
  store i64 %span.begin, ptr %begin.place
  %end.place = getelementptr i64, ptr %begin.place, i64 1
  store i64 %span.end, ptr %end.place
  br label %passed
passed:
  %slot.1 = phi ptr [ %after.number, %number ], [ %after.array, %span ]
  %n.1 = add i64 %n, 1
  %size.word = getelementptr i64, ptr %record, i64 1
  %record.size = load i64, ptr %size.word
  %record.1 = getelementptr i64, ptr %record, i64 %record.size
  br label %next

pairs:
  %pairs.word = getelementptr i64, ptr %words, i64 6
  %pair.count = load i64, ptr %pairs.word
  br label %pair
pair: ; they follow the last parameter
  %k = phi i64 [ 0, %pairs ], [ %k.1, %compare ]
  %are.apart = icmp eq i64 %k, %pair.count
  br i1 %are.apart, label %run, label %compare
compare:
  %k.1 = add i64 %k, 1
  %pair.number = shl i64 %k, 1
  %one.place = getelementptr i64, ptr %record, i64 %pair.number
  %one = load i64, ptr %one.place
  %two.place = getelementptr i64, ptr %one.place, i64 1
  %two = load i64, ptr %two.place
  %one.span = getelementptr [2 x i64], ptr %spans, i64 %one
  %two.span = getelementptr [2 x i64], ptr %spans, i64 %two
  %one.begin = load i64, ptr %one.span
  %two.begin = load i64, ptr %two.span
  %one.end.place = getelementptr i64, ptr %one.span, i64 1
  %two.end.place = getelementptr i64, ptr %two.span, i64 1
  %one.end = load i64, ptr %one.end.place
  %two.end = load i64, ptr %two.end.place
  %one.precedes = icmp ule i64 %one.end, %two.begin
  %two.precedes = icmp ule i64 %two.end, %one.begin
  %is.apart = or i1 %one.precedes, %two.precedes
  br i1 %is.apart, label %pair, label %other

run:
  %entry.code = load ptr, ptr %words
  %short.word = getelementptr i64, ptr %words, i64 3
  %short = load i64, ptr %short.word
  %status = call i32 @stepwell.run(ptr %entry.code, ptr %slots, i64 %short)
  %succeeded = icmp eq i32 %status, 0
  br i1 %succeeded, label %result, label %fail
result:
  %result.word = getelementptr i64, ptr %words, i64 4
  %result.kind = load i64, ptr %result.word
  %is.none = icmp eq i64 %result.kind, 0
  br i1 %is.none, label %none, label %value
none:
  call void @Py_IncRef(ptr @stepwell.none)
  ret ptr @stepwell.none
value:
  %result.slot = getelementptr i64, ptr %slots, i64 %slot.count
  %created = call ptr @stepwell.create_object(i64 %result.kind, ptr %result.slot)
  ret ptr %created
fail:
  %raised = call ptr @stepwell.fail_call(ptr %self, i32 %status, ptr %arguments, i64 %count)
  ret ptr %raised

other:
  %is.first = icmp eq ptr %objects, %arguments
  %make = load ptr, ptr @stepwell.make_stand_ins
  %are.tensors.known = icmp ne ptr %make, null
  %are.few = icmp ule i64 %count, 64 ; a bit for each
  %may.be.tensors.1 = and i1 %is.first, %are.tensors.known
  %may.be.tensors = and i1 %may.be.tensors.1, %are.few
  br i1 %may.be.tensors, label %tensors, label %convert
tensors:
  %space.size = mul i64 %count, {stand_in_space}
  %space = alloca i8, i64 %space.size, align 8
  %written.word = getelementptr i64, ptr %words, i64 5
  %written = load i64, ptr %written.word
  %made = call i32 %make(ptr %arguments, i64 %count, ptr %space, i64 %written)
  %have.stand.ins = icmp eq i32 %made, 1
  br i1 %have.stand.ins, label %start, label %convert
convert:
  %function = call ptr @stepwell.item(ptr %self, i64 2)
  %converted = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %count, ptr %names)
  ret ptr %converted
}

; Calls a function with the arguments of a call of an object that forwards its calls to it. The first bit of %flagged says
; whether the place before the arguments may be written.
define ptr @stepwell.call_forwarded(ptr %object, ptr %arguments, i64 %flagged, ptr %names) nounwind {
  %function.field = getelementptr i8, ptr %object, i64 {function}
  %function = load ptr, ptr %function.field
  %self.field = getelementptr i8, ptr %function, i64 {self}
  %self = load ptr, ptr %self.field
  %count = and i64 %flagged, 9223372036854775807
  %result = tail call ptr @stepwell.call_function(ptr %self, ptr %arguments, i64 %count, ptr %names)
  ret ptr %result
}

; Calls a function without parameters, whose words are the addresses of the entry point and of the slots, and whether the
; call is short.
define ptr @stepwell.call_bound(ptr %self, ptr %nothing) nounwind {
  %words = call ptr @stepwell.words(ptr %self)
  %entry = load ptr, ptr %words
  %slots.word = getelementptr i64, ptr %words, i64 1
  %slots = load ptr, ptr %slots.word
  %short.word = getelementptr i64, ptr %words, i64 2
  %short = load i64, ptr %short.word
  %status = call i32 @stepwell.run(ptr %entry, ptr %slots, i64 %short)
  %succeeded = icmp eq i32 %status, 0
  br i1 %succeeded, label %end, label %fail
end:
  call void @Py_IncRef(ptr @stepwell.none)
  ret ptr @stepwell.none
fail:
  %raised = call ptr @stepwell.fail_call(ptr %self, i32 %status, ptr null, i64 0)
  ret ptr %raised
}

; An object of the tuple %self.
define internal ptr @stepwell.item(ptr %self, i64 %n) alwaysinline {
  %items = getelementptr i8, ptr %self, i64 {items}
  %place = getelementptr ptr, ptr %items, i64 %n
  %item = load ptr, ptr %place
  ret ptr %item
}

define internal ptr @stepwell.words(ptr %self) alwaysinline {
  %bytes = call ptr @stepwell.item(ptr %self, i64 0)
  %words = getelementptr i8, ptr %bytes, i64 {characters}
  ret ptr %words
}

; Runs native code. Python's lock is released unless the call is short. Returns its status.
define internal i32 @stepwell.run(ptr %entry, ptr %slots, i64 %short) alwaysinline {
  %is.long = icmp eq i64 %short, 0
  br i1 %is.long, label %release, label %hold
release:
  %state = call ptr @PyEval_SaveThread()
  %status.released = call i32 %entry(ptr %slots)
  call void @PyEval_RestoreThread(ptr %state)
  ret i32 %status.released
hold:
  %status.held = call i32 %entry(ptr %slots)
  ret i32 %status.held
}

; Calls the second object of %self with the status and the arguments.
define internal ptr @stepwell.fail_call(ptr %self, i32 %status, ptr %arguments, i64 %count) nounwind cold noinline {
  %all = add i64 %count, 1
  %copy = alloca ptr, i64 %all
  %rest = getelementptr ptr, ptr %copy, i64 1
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %arguments, i64 %bytes, i1 false)
  %wide = sext i32 %status to i64
  %number = call ptr @PyLong_FromLongLong(i64 %wide)
  %is.missing = icmp eq ptr %number, null
  br i1 %is.missing, label %end, label %call
call:
  store ptr %number, ptr %copy
  %function = call ptr @stepwell.item(ptr %self, i64 1)
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %copy, i64 %all, ptr null)
  call void @Py_DecRef(ptr %number)
  ret ptr %result
end:
  ret ptr null
}

; The object of Python of a result of some kind, the position of its data type and 1.
define internal ptr @stepwell.create_object(i64 %kind, ptr %slot) nounwind noinline {
  %i8 = load i8, ptr %slot
  %i16 = load i16, ptr %slot
  %i32 = load i32, ptr %slot
  %i64 = load i64, ptr %slot
  switch i64 %kind, label %unsigned [
    i64 {bool}, label %bool
    i64 {int8}, label %int8
    i64 {int16}, label %int16
    i64 {int32}, label %int32
    i64 {int64}, label %signed
    i64 {uint8}, label %uint8
    i64 {uint16}, label %uint16
    i64 {uint32}, label %uint32
    i64 {float32}, label %float32
    i64 {float64}, label %float64
  ]
bool:
  %is.true = icmp ne i8 %i8, 0
  %truth = select i1 %is.true, ptr @stepwell.true, ptr @stepwell.false
  call void @Py_IncRef(ptr %truth)
  ret ptr %truth
int8:
  %from.i8 = sext i8 %i8 to i64
  br label %signed
int16:
  %from.i16 = sext i16 %i16 to i64
  br label %signed
int32:
  %from.i32 = sext i32 %i32 to i64
  br label %signed
signed:
  %integer = phi i64 [ %i64, %0 ], [ %from.i8, %int8 ], [ %from.i16, %int16 ], [ %from.i32, %int32 ]
  %signed.object = call ptr @PyLong_FromLongLong(i64 %integer)
  ret ptr %signed.object
uint8:
  %from.u8 = zext i8 %i8 to i64
  br label %unsigned
uint16:
  %from.u16 = zext i16 %i16 to i64
  br label %unsigned
uint32:
  %from.u32 = zext i32 %i32 to i64
  br label %unsigned
unsigned:
  %natural = phi i64 [ %i64, %0 ], [ %from.u8, %uint8 ], [ %from.u16, %uint16 ], [ %from.u32, %uint32 ]
  %unsigned.object = call ptr @PyLong_FromUnsignedLongLong(i64 %natural)
  ret ptr %unsigned.object
float32:
  %single = load float, ptr %slot
  %from.single = fpext float %single to double
  br label %real
float64:
  %double = load double, ptr %slot
  br label %real
real:
  %number = phi double [ %from.single, %float32 ], [ %double, %float64 ]
  %real.object = call ptr @PyFloat_FromDouble(double %number)
  ret ptr %real.object
}
