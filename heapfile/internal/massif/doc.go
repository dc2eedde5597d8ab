// Package massif reads the output of Valgrind's massif: the bytes in use at up to 100 moments, for
// some of them with a tree of the callers.
//
//	desc: --detailed-freq=1 --time-unit=ms
//	cmd: ./shop 12
//	time_unit: ms
//	#-----------
//	snapshot=60
//	#-----------
//	time=9505
//	mem_heap_B=4497508
//	mem_heap_extra_B=67860
//	mem_stacks_B=0
//	heap_tree=detailed
//	n2: 4497508 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//	 n1: 4494616 0x10A843: make_unique<shop::Page> (unique_ptr.h:1065)
//	  n0: 4494616 0x10A843: shop::Cache<shop::Page>::load(int) (shop.cc:63)
//	 n0: 2892 in 5 places, all below massif's threshold (1.00%)
//
// A line of a tree has the number of its children, which follow it with one more blank, the bytes
// in use below it, and a function. The functions that were inlined at an address are lines of their
// own with the same address, innermost first; a call of a function by itself has the same address,
// too. Snapshots without a tree are not read, nor are the sizes of stacks and of the allocator's
// own data.
//
// Massif counts neither objects nor what was allocated since the start. It omits callers with less
// than 1 % of the heap (--threshold), so that a caller that is absent may have up to that much.
//
// See https://valgrind.org/docs/manual/ms-manual.html and pp_snapshot in massif/ms_main.c.
package massif
