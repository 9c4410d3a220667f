// Package signpost emits intervals of Apple's os_signpost: Instruments shows them beside what macOS itself records, and
// `log stream --signpost` prints them. On other platforms [System] says that there are none.
//
// The package takes no times: an interval begins and ends when the functions are called. The usual steps are
//
//  1. [System], the functions of macOS, and [Library], the texts that names and formats can be;
//  2. [New], once for each kind of interval: its category and its name;
//  3. [Kind.Begin] and [Kind.End], which allocate nothing. If nobody wants signposts, Begin costs one call of C.
//
// os/signpost.h declares macros, which need a C compiler. They expand to a call of _os_signpost_emit_with_name_impl, and that is what
// the package calls. The declarations are those of os/signpost.h, os/log.h and dlfcn.h.
//
// A record has no text of a name or a format but its place in the section __TEXT,__oslogstring of a binary, and readers look the text
// up in the binary's file. Go's linker makes no such section, and https://github.com/tmc/apple (x/signpost/pool.go) has tried on a
// Mac what else could do: names in Go's heap and literals in Go's section __TEXT,__rodata are both shown as "<missing name>". A format
// from allocated memory is shown while it is recorded, and later as "<compose failure>"
// (https://github.com/oshai/kotlin-logging/issues/588). What was shown there after a test is text from that section of a library that
// clang has made and the program has loaded (x/signpost/loadnames.go). [Library] makes one. Who has Instruments has clang.
//
// What differs from interval to interval, such as the name of a stage, is the argument of the format "%{public}s". Arguments are
// recorded as they are.
//
// kdebug_signpost_start of sys/kdebug_signpost.h, which takes numbers instead of names, is deprecated for os_signpost. Nothing of this
// package has run on a Mac.
//
// Reference: https://developer.apple.com/documentation/os/recording-performance-data
package signpost

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Symbols returns the address of a C function.
type Symbols func(name string) (address uintptr, err error)

// Texts returns the address of a C string that readers of signposts can look up.
type Texts func(text string) (address uintptr, err error)

// Kind is a kind of interval: those of one name in one category. Any number of goroutines may use a Kind. A nil *Kind emits nothing.
type Kind struct {
	enabled, generate, emit uintptr // functions

	log                         uintptr // os_log_t
	image                       uintptr // mach_header of the binary that has the following texts
	name, withText, withoutText uintptr

	// The functions read and write the following. A Kind is on the heap, so that it stays where it is: a stack may move.
	mu        sync.Mutex
	words     [8]uintptr
	arguments [16]byte
	text      [MostText + 1]byte
}

// MostText is the number of bytes of an interval's text. What is longer is cut off.
const MostText = 511

// The formats of signposts with a text and without one.
const (
	formatWithText    = "%{public}s"
	formatWithoutText = ""
)

// New returns a kind of interval. It fails if a function or a text is missing, or if the texts are not in one binary of the process.
func New(find Symbols, texts Texts, subsystem, category, name string) (*Kind, error) {
	k := &Kind{}
	var create, dladdr uintptr
	for _, f := range []struct {
		name    string
		address *uintptr
	}{
		{"os_log_create", &create},
		{"os_signpost_enabled", &k.enabled},
		{"os_signpost_id_generate", &k.generate},
		{"_os_signpost_emit_with_name_impl", &k.emit},
		{"dladdr", &dladdr},
	} {
		var err error
		if *f.address, err = find(f.name); err != nil {
			return nil, fmt.Errorf("signpost: macOS has no %s (it comes with macOS 10.14 and later)", f.name)
		}
	}
	for _, t := range []struct {
		text    string
		address *uintptr
	}{{name, &k.name}, {formatWithText, &k.withText}, {formatWithoutText, &k.withoutText}} {
		var err error
		if *t.address, err = texts(t.text); err != nil {
			return nil, err
		}
		image := k.imageOf(dladdr, *t.address)
		if image == 0 || k.image != 0 && image != k.image {
			return nil, fmt.Errorf("signpost: the texts %q and %q are not in one binary", name, t.text)
		}
		k.image = image
	}
	if err := k.open(create, subsystem, category); err != nil {
		return nil, err
	}
	return k, nil
}

// open makes the handle of the category. A handle is never released, and the same arguments give the same handle.
//
// Reference: https://developer.apple.com/documentation/os/os_log_create
func (k *Kind) open(create uintptr, subsystem, category string) error {
	names := append(append(append(k.text[:0], subsystem...), 0), category...)
	if names = append(names, 0); len(names) > len(k.text) {
		return fmt.Errorf("signpost: the names %q and %q together are longer than %d bytes", subsystem, category, len(k.text))
	}
	k.log = invoke(create, []uintptr{uintptr(unsafe.Pointer(&k.text[0])), uintptr(unsafe.Pointer(&k.text[len(subsystem)+1]))})
	runtime.KeepAlive(k)
	return nil
}

// imageOf returns the header of the binary that an address belongs to, and 0 if there is none.
//
// Reference: https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man3/dladdr.3.html
func (k *Kind) imageOf(dladdr, address uintptr) uintptr {
	info := k.words[:4] // Dl_info: dli_fname, dli_fbase, dli_sname, dli_saddr
	found := invoke(dladdr, []uintptr{address, uintptr(unsafe.Pointer(&info[0]))})
	runtime.KeepAlive(k)
	if int32(found) == 0 {
		return 0
	}
	return info[1]
}

// Values of os_signpost_type_t and os_signpost_id_t.
const (
	intervalBegin = 1
	intervalEnd   = 2

	nullID    = 0
	invalidID = ^uint64(0)
)

// Begin begins an interval and returns its identifier for End. It is 0 if nobody wants signposts. text says which interval it is, such
// as the name of a stage. Instruments lists intervals by name and text.
func (k *Kind) Begin(text string) (id uint64) {
	if k == nil {
		return nullID
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.words[0] = k.log
	if byte(invoke(k.enabled, k.words[:1])) == 0 { // C's bool is one byte
		return nullID
	}
	if id = uint64(invoke(k.generate, k.words[:1])); id == nullID || id == invalidID {
		return nullID
	}
	if end := strings.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	k.text[copy(k.text[:MostText], text)] = 0
	// The arguments are encoded as __builtin_os_log_format of Clang does: how many there are and whether all are numbers, and of
	// each its type, its length and its value. The value of a string is its address.
	// Reference: https://github.com/llvm/llvm-project/blob/main/clang/include/clang/AST/OSLog.h
	const notANumber, public, isString = 2, 2, 2 << 4
	arguments := append(k.arguments[:0], notANumber, 1, isString|public, 8)
	arguments = binary.NativeEndian.AppendUint64(arguments, uint64(uintptr(unsafe.Pointer(&k.text[0]))))
	k.signpost(intervalBegin, id, k.withText, len(arguments))
	return id
}

// End ends the interval of an identifier that Begin returned. It does nothing if that is 0.
func (k *Kind) End(id uint64) {
	if k == nil || id == nullID {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.arguments[0], k.arguments[1] = 0, 0 // no arguments
	k.signpost(intervalEnd, id, k.withoutText, 2)
}

// signpost emits one of the two signposts of an interval.
func (k *Kind) signpost(which uintptr, id uint64, format uintptr, size int) {
	k.words = [8]uintptr{k.image, k.log, which, uintptr(id), k.name, format, uintptr(unsafe.Pointer(&k.arguments[0])), uintptr(size)}
	invoke(k.emit, k.words[:])
	runtime.KeepAlive(k)
}
