// Package symbolize names the addresses of a series of heap snapshots, offline:
// against the program and the libraries that were mapped, their separate debug
// files, and the maps that just-in-time compilers leave behind.
//
// # Contract
//
// [Resolve] gives every address of every stack a [Location], and every Location
// without frames a [Reason]. A name is given only if the file says so: an address
// beyond a symbol's end is not that symbol's, a file that does not fit the
// mappings is not used. What people may want to know nonetheless (the nearest
// symbol) is a hint, kept apart.
//
// An address is a return address; the call is the byte before it. Lookups
// are made there, while Location.Address and Location.Offset keep the return address itself.
//
// Results are immutable and the same in every run, whatever the number of workers.
//
// # From an address to an ELF address
//
// An address a in a mapping lies at file offset o = a − start + offset. The
// PT_LOAD segment with p_offset ≤ o < p_offset + p_filesz puts it at
// o − p_offset + p_vaddr. The segment is picked by o for each address, because
// one mapping may hold more than one segment and segments may be packed into
// one page (see also google/pprof internal/elfexec.GetBase, which derives the
// same formula per mapping).
package symbolize
