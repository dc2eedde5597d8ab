package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"path"
	"strconv"
	"strings"

	"github.com/heaplapse/heaplapse/internal/lazyregexp"
	"github.com/heaplapse/heaplapse/symbolize"
)

// Key is a hash of 63 bits, so that every database has a type for it. 0 means none.
type Key int64

// String returns the key in decimal, as it is in JSON and in SQL.
func (k Key) String() string { return strconv.FormatInt(int64(k), 10) }

// MarshalText returns the key in decimal: a number of JSON would lose digits in some readers.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// KeyKind is what a site's key is made from.
type KeyKind string

// Kinds of keys. Only those of functions and scripts are the same in other builds.
const (
	KeyFunction KeyKind = "function" // module and function
	KeyScript   KeyKind = "script"   // file and function of a script
	KeyOffset   KeyKind = "offset"   // module and offset of a function without a name, within one build
	KeyNone     KeyKind = "none"     // there is no stack
)

// AcrossBuilds reports whether keys of the kind are the same in other builds.
func (k KeyKind) AcrossBuilds() bool { return k == KeyFunction || k == KeyScript }

// IsScript reports whether a frame is a line of a script of Python, Perl, PHP or Ruby, as far as
// its names tell. Code is in a module, and generated code has other source files.
func IsScript(f *symbolize.Frame) bool {
	return f.Module == "" && f.Line > 0 && (scriptFile().MatchString(f.File) || isCommand(f.File))
}

// isCommand reports whether a file can be the script of a command, such as gunicorn. Neither headers of C++ nor what is
// built into Node, such as node:fs, have an extension.
func isCommand(file string) bool {
	return path.Ext(path.Base(file)) == "" && !strings.Contains(file, "include/") && !strings.Contains(file, ":")
}

// scriptFile matches the file of a script, also of one that has none: <string>, (eval), -e.
var scriptFile = lazyregexp.New(`\.(py|p[lm]|t|psgi|php|phtml|inc|rb|ru|rake|erb)$|^<|^\(eval[) ]|^-e$`)

// IsUnnamed reports whether a frame has no function: then Function is its module+offset, or an
// address.
func IsUnnamed(f *symbolize.Frame) bool {
	if f.Module == "" {
		return f.File == "" && strings.HasPrefix(f.Function, "0x")
	}
	return strings.HasPrefix(f.Function, path.Base(f.Module)+"+")
}

// Keys identify a site on other hosts, without a comparison of two runs ([Pair]).
type Keys struct {
	// Site is that of the function that the site is attributed to: of its name without template
	// arguments, and of its module's base name without a version. It does not depend on the
	// compiler, its options, lines, source files, or inlining. Static functions of one module that
	// have the same name have the same key.
	Site Key
	Kind KeyKind
	// Path is that of the functions from there to the outermost caller. It is the same on all hosts
	// of a build; another build may have other callers.
	Path Key
}

// KeysOf returns the keys of a stack, leaf first, that is attributed to the frame with the index
// blame, -1 for none.
func KeysOf(frames []symbolize.Frame, blame int) Keys {
	if blame < 0 || blame >= len(frames) {
		return Keys{Kind: KeyNone}
	}
	site, kind := textOf(&frames[blame])
	var all strings.Builder
	last := ""
	for i := range frames[blame:] {
		text, _ := textOf(&frames[blame+i])
		if text != last { // a function that calls itself counts once
			all.WriteString(text + "\x01")
		}
		last = text
	}
	return Keys{Site: keyOf(site), Kind: kind, Path: keyOf(all.String())}
}

// textOf returns what identifies a function.
func textOf(f *symbolize.Frame) (string, KeyKind) {
	switch {
	case IsScript(f):
		return "script\x00" + symbolize.FileName(f.File) + "\x00" + f.Function, KeyScript
	case IsUnnamed(f) && f.Module == "":
		return "offset", KeyOffset // an address outside any file means nothing in another process
	case IsUnnamed(f):
		offset := f.Function[strings.LastIndex(f.Function, "+")+1:]
		return "offset\x00" + ModuleName(f.Module) + "\x00" + offset, KeyOffset
	}
	return "function\x00" + ModuleName(f.Module) + "\x00" + Untemplated(Normalize(f.Function)), KeyFunction
}

// StackKey returns the key of a whole stack, whose frames are texts. It is the same within one build.
func StackKey(frames []string) Key { return keyOf("stack\x00" + strings.Join(frames, "\x00")) }

func keyOf(text string) Key {
	sum := sha256.Sum256([]byte("heaplapse.key/1\x00" + text))
	return Key(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

var (
	// libfoo.so.1.2, libfoo.so.6
	soVersion = lazyregexp.New(`\.so(\.\d+)+$`)
	// libfoo-5c0aa2f6.so, as packages of Python rename the libraries that they include
	packageHash = lazyregexp.New(`-[0-9a-f]{8}(\.so)?$`)
	// _array.cpython-311-x86_64-linux-gnu.so
	abiOfPython = lazyregexp.New(`\.(cpython-\d+[a-z]*|abi\d+)(-[a-z0-9_-]+)?\.so$`)
	// libfoo-2.31.so, libpython3.11.so, python3.11, server-1.2.3, server-v7
	nameVersion = lazyregexp.New(`([-_.]?v?\d+(\.\d+)+[a-z]?|-v?\d+)(\.so)?$`)
)

// ModuleName returns the base name of a program or library without its version, which differs
// between builds: libstdc++.so for /usr/lib/libstdc++.so.6.0.30, and python for python3.11.
func ModuleName(file string) string {
	if file == "" {
		return ""
	}
	name := strings.TrimSuffix(path.Base(file), " (deleted)")
	name = soVersion().ReplaceAllString(name, ".so")
	name = abiOfPython().ReplaceAllString(name, ".so")
	for {
		suffix := ""
		if strings.HasSuffix(name, ".so") {
			suffix = ".so"
		}
		shorter := packageHash().ReplaceAllString(nameVersion().ReplaceAllString(name, suffix), suffix)
		if shorter == name || shorter == suffix {
			return name
		}
		name = shorter
	}
}
