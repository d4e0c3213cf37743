; Stand-ins: descriptions of tensors of other libraries in the layout of numpy's arrays, which native code reads in place
; of the tensors. See `runtime/stand_ins.py`.

%stepwell.tensor = type { ptr, i32, i32, i32, i32, ptr, ptr, i64 } ; DLTensor: dtype is one i32
%stepwell.library = type { ptr, ptr, ptr } ; a type of tensors, and its functions that describe and export a tensor
%stepwell.element = type { i32, i32, i64, ptr } ; a type of elements: DLPack's code, the size, the alignment, the dtype
%stepwell.array = type { i64, ptr, ptr, i32, ptr, ptr, ptr, ptr, i32, [8 x i64], [8 x i64] } ; with extents and strides

@stepwell.libraries = external global %stepwell.library ; up to a null type
@stepwell.elements = external global %stepwell.element ; up to a null dtype
@stepwell.ndarray = external global i8

declare void @PyErr_Clear()


; Fills %space with the pointers of %count arguments, each tensor of a known type replaced by a stand-in, and with the
; stand-ins. Bit n of %written: whether argument n is written. Returns 0 if there is no tensor, or one without stand-in.
define i32 @stepwell.stand_ins(ptr %arguments, i64 %count, ptr %space, i64 %written) nounwind {
entry:
  %first = getelementptr ptr, ptr %space, i64 %count
  br label %next
next:
  %n = phi i64 [ 0, %entry ], [ %n.1, %keep ]
  %found = phi i32 [ 0, %entry ], [ %found.1, %keep ]
  %done = icmp eq i64 %n, %count
  br i1 %done, label %end, label %argument
argument:
  %source = getelementptr ptr, ptr %arguments, i64 %n
  %object = load ptr, ptr %source
  %type.field = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.field
  br label %search
search:
  %library = phi ptr [ @stepwell.libraries, %argument ], [ %following, %other ]
  %known = load ptr, ptr %library
  %at.end = icmp eq ptr %known, null
  br i1 %at.end, label %keep, label %compare
compare:
  %is.same = icmp eq ptr %known, %type
  br i1 %is.same, label %tensor, label %other
other:
  %following = getelementptr %stepwell.library, ptr %library, i64 1
  br label %search
tensor:
  %shifted = lshr i64 %written, %n
  %is.written = trunc i64 %shifted to i1
  %array = getelementptr %stepwell.array, ptr %first, i64 %n
  %is.described = call i1 @stepwell.stand_in(ptr %object, ptr %library, i1 %is.written, ptr %array)
  br i1 %is.described, label %keep, label %refuse
keep:
  %kept = phi ptr [ %object, %search ], [ %array, %tensor ]
  %found.1 = phi i32 [ %found, %search ], [ 1, %tensor ]
  %place = getelementptr ptr, ptr %space, i64 %n
  store ptr %kept, ptr %place
  %n.1 = add i64 %n, 1
  br label %next
end:
  ret i32 %found
refuse:
  ret i32 0
}

; Fills a stand-in. False for a tensor that only Python can judge.
define internal i1 @stepwell.stand_in(ptr %object, ptr %library, i1 %written, ptr %array) nounwind {
entry:
  %tensor = alloca %stepwell.tensor
  %describe.field = getelementptr %stepwell.library, ptr %library, i64 0, i32 1
  %describe = load ptr, ptr %describe.field
  %status = call i32 %describe(ptr %object, ptr %tensor)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %clear, label %check
clear:
  call void @PyErr_Clear()
  br label %refuse
check:
  %device.field = getelementptr %stepwell.tensor, ptr %tensor, i64 0, i32 1
  %device = load i32, ptr %device.field
  %is.cpu = icmp eq i32 %device, 1
  %is.cuda.host = icmp eq i32 %device, 3
  %is.rocm.host = icmp eq i32 %device, 11
  %is.pinned = or i1 %is.cuda.host, %is.rocm.host
  %is.host = or i1 %is.cpu, %is.pinned
  %rank.field = getelementptr %stepwell.tensor, ptr %tensor, i64 0, i32 3
  %rank = load i32, ptr %rank.field
  %is.small = icmp ule i32 %rank, 8
  %accepted = and i1 %is.host, %is.small
  br i1 %accepted, label %elements, label %refuse
elements:
  %code.field = getelementptr %stepwell.tensor, ptr %tensor, i64 0, i32 4
  %code = load i32, ptr %code.field
  br label %search
search:
  %element = phi ptr [ @stepwell.elements, %elements ], [ %following, %other ]
  %dtype.field = getelementptr %stepwell.element, ptr %element, i64 0, i32 3
  %dtype = load ptr, ptr %dtype.field
  %at.end = icmp eq ptr %dtype, null
  br i1 %at.end, label %refuse, label %compare
compare:
  %known = load i32, ptr %element
  %is.same = icmp eq i32 %known, %code
  br i1 %is.same, label %layout, label %other
other:
  %following = getelementptr %stepwell.element, ptr %element, i64 1
  br label %search
layout:
  %size.field = getelementptr %stepwell.element, ptr %element, i64 0, i32 1
  %size.32 = load i32, ptr %size.field
  %size = zext i32 %size.32 to i64
  %shape.field = getelementptr %stepwell.tensor, ptr %tensor, i64 0, i32 5
  %shape = load ptr, ptr %shape.field
  %strides.field = getelementptr %stepwell.tensor, ptr %tensor, i64 0, i32 6
  %strides = load ptr, ptr %strides.field
  %is.compact = icmp eq ptr %strides, null
  %rank.64 = zext i32 %rank to i64
  br label %axes
axes:
  %axis = phi i64 [ %rank.64, %layout ], [ %axis.1, %axis.end ]
  %step = phi i64 [ 1, %layout ], [ %step.1, %axis.end ]
  %contiguous = phi i1 [ true, %layout ], [ %contiguous.1, %axis.end ]
  %empty = phi i1 [ false, %layout ], [ %empty.1, %axis.end ]
  %is.last = icmp eq i64 %axis, 0
  br i1 %is.last, label %memory, label %dimension
dimension:
  %axis.1 = sub i64 %axis, 1
  %extent.place = getelementptr i64, ptr %shape, i64 %axis.1
  %extent = load i64, ptr %extent.place
  %is.negative = icmp slt i64 %extent, 0
  br i1 %is.negative, label %refuse, label %stride
stride:
  br i1 %is.compact, label %axis.end, label %given
given:
  %stride.place = getelementptr i64, ptr %strides, i64 %axis.1
  %stride.given = load i64, ptr %stride.place
  br label %axis.end
axis.end:
  %elements.apart = phi i64 [ %step, %stride ], [ %stride.given, %given ]
  %bytes.apart = mul i64 %elements.apart, %size
  %own.extent = getelementptr %stepwell.array, ptr %array, i64 0, i32 9, i64 %axis.1
  store i64 %extent, ptr %own.extent
  %own.stride = getelementptr %stepwell.array, ptr %array, i64 0, i32 10, i64 %axis.1
  store i64 %bytes.apart, ptr %own.stride
  %is.zero = icmp eq i64 %extent, 0
  %empty.1 = or i1 %empty, %is.zero
  %is.one = icmp eq i64 %extent, 1
  %is.next = icmp eq i64 %elements.apart, %step
  %fits = or i1 %is.one, %is.next
  %contiguous.1 = and i1 %contiguous, %fits
  %step.1 = mul i64 %step, %extent
  br label %axes
memory:
  %data.begin = load ptr, ptr %tensor
  %offset.field = getelementptr %stepwell.tensor, ptr %tensor, i64 0, i32 7
  %offset = load i64, ptr %offset.field
  %data = getelementptr i8, ptr %data.begin, i64 %offset
  %is.null = icmp eq ptr %data, null
  %not.empty = xor i1 %empty, true
  %is.missing = and i1 %is.null, %not.empty
  br i1 %is.missing, label %refuse, label %writes
writes:
  br i1 %written, label %export, label %fill
export:
  %is.writeable = call i1 @stepwell.is_writeable(ptr %object, ptr %library)
  br i1 %is.writeable, label %fill, label %refuse
fill:
  %alignment.field = getelementptr %stepwell.element, ptr %element, i64 0, i32 2
  %alignment = load i64, ptr %alignment.field
  %address = ptrtoint ptr %data to i64
  %mask = sub i64 %alignment, 1
  %past = and i64 %address, %mask
  %is.aligned = icmp eq i64 %past, 0
  %aligned.flag = select i1 %is.aligned, i32 {aligned}, i32 0
  %is.contiguous = or i1 %contiguous, %empty
  %contiguous.flag = select i1 %is.contiguous, i32 {contiguous}, i32 0
  %flags.1 = or i32 %aligned.flag, %contiguous.flag
  %flags = or i32 %flags.1, {writeable}
  %type.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 1
  store ptr @stepwell.ndarray, ptr %type.place
  %data.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 2
  store ptr %data, ptr %data.place
  %rank.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 3
  store i32 %rank, ptr %rank.place
  %extents = getelementptr %stepwell.array, ptr %array, i64 0, i32 9
  %extents.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 4
  store ptr %extents, ptr %extents.place
  %steps = getelementptr %stepwell.array, ptr %array, i64 0, i32 10
  %steps.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 5
  store ptr %steps, ptr %steps.place
  %dtype.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 7
  store ptr %dtype, ptr %dtype.place
  %flags.place = getelementptr %stepwell.array, ptr %array, i64 0, i32 8
  store i32 %flags, ptr %flags.place
  ret i1 true
refuse:
  ret i1 false
}

; Whether a tensor itself may be written: its export is neither read-only nor a copy.
define internal i1 @stepwell.is_writeable(ptr %object, ptr %library) nounwind {
entry:
  %exported = alloca ptr
  %export.field = getelementptr %stepwell.library, ptr %library, i64 0, i32 2
  %export = load ptr, ptr %export.field
  %status = call i32 %export(ptr %object, ptr %exported)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %clear, label %read
clear:
  call void @PyErr_Clear()
  ret i1 false
read: ; DLManagedTensorVersioned: the deleter at byte 16, the flags at byte 24
  %managed = load ptr, ptr %exported
  %deleter.field = getelementptr i8, ptr %managed, i64 16
  %deleter = load ptr, ptr %deleter.field
  %flags.field = getelementptr i8, ptr %managed, i64 24
  %flags = load i64, ptr %flags.field
  %protected = and i64 %flags, 3
  %is.writeable = icmp eq i64 %protected, 0
  %is.kept = icmp eq ptr %deleter, null
  br i1 %is.kept, label %end, label %delete
delete:
  call void %deleter(ptr %managed)
  br label %end
end:
  ret i1 %is.writeable
}
