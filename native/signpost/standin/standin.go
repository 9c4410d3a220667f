//go:build linux && (amd64 || arm64)

package standin

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/native/signpost"
)

// Image is the header of the only binary.
const Image = 0x100000000

// Signpost is a signpost that was emitted, with the texts as they were then.
type Signpost struct {
	Image               uintptr
	Subsystem, Category string
	Type                byte
	ID                  uint64
	Name, Format, Text  string
	Arguments           []byte
}

// Functions are the functions. A process has one, because it can make a limited number of C functions.
type Functions struct {
	mu        sync.Mutex
	logs      [][2]string // by handle - firstLog
	signposts []Signpost
	lastID    uint64
	off       bool // signposts are disabled
	outside   bool // addresses belong to no binary
	asked     int  // calls of os_signpost_enabled

	addresses map[string]uintptr
	texts     map[string][]byte // C strings; they stay where they are
}

// A handle is no small number, so that it is not mistaken for something else.
const firstLog = 0x5160_0000

var shared = sync.OnceValue(func() *Functions {
	f := &Functions{addresses: map[string]uintptr{}, texts: map[string][]byte{}}
	for name, function := range map[string]any{
		"os_log_create":                    f.create,
		"os_signpost_enabled":              f.enabled,
		"os_signpost_id_generate":          f.generate,
		"_os_signpost_emit_with_name_impl": f.emit,
		"dladdr":                           f.dladdr,
	} {
		f.addresses[name] = purego.NewCallback(function)
	}
	return f
})

// New returns the functions, which have recorded nothing yet, with signposts enabled. Only one test at a time may use them.
func New() *Functions {
	f := shared()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signposts, f.asked, f.off, f.outside = nil, 0, false, false
	return f
}

// Find is the [signpost.Symbols] of the functions.
func (f *Functions) Find(name string) (uintptr, error) {
	if address, ok := f.addresses[name]; ok {
		return address, nil
	}
	return 0, fmt.Errorf("standin: there is no %s", name)
}

// Text is a [signpost.Texts] with every text.
func (f *Functions) Text(text string) (uintptr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts[text] == nil {
		f.texts[text] = append([]byte(text), 0)
	}
	return uintptr(unsafe.Pointer(&f.texts[text][0])), nil
}

var (
	_ signpost.Symbols = (*Functions)(nil).Find
	_ signpost.Texts   = (*Functions)(nil).Text
)

// Disable turns signposts off, as if nobody wanted them.
func (f *Functions) Disable() { f.set(&f.off) }

// Outside makes every address one that belongs to no binary.
func (f *Functions) Outside() { f.set(&f.outside) }

func (f *Functions) set(what *bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*what = true
}

// Signposts returns what was emitted, in its order.
func (f *Functions) Signposts() []Signpost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Signpost(nil), f.signposts...)
}

// Asked returns how often os_signpost_enabled was called.
func (f *Functions) Asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *Functions) create(subsystem, category uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := [2]string{CString(subsystem), CString(category)}
	for i, known := range f.logs {
		if known == of {
			return firstLog + uintptr(i)
		}
	}
	f.logs = append(f.logs, of)
	return firstLog + uintptr(len(f.logs)-1)
}

// enabled returns a bool, of which only the lowest byte is defined.
func (f *Functions) enabled(log uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(log)
	f.asked++
	const undefined = 0xabcd00
	if f.off {
		return undefined
	}
	return undefined | 1
}

func (f *Functions) generate(log uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(log)
	f.lastID++
	return uintptr(f.lastID)
}

func (f *Functions) emit(image, log, which, id, name, format, arguments, size uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.of(log)
	s := Signpost{Image: image, Subsystem: of[0], Category: of[1], Type: byte(which), ID: uint64(id), Name: CString(name), Format: CString(format),
		Arguments: append([]byte(nil), unsafe.Slice((*byte)(pointer(arguments)), uint32(size))...)}
	if s.Format == "%{public}s" && len(s.Arguments) == 12 {
		s.Text = CString(uintptr(binary.NativeEndian.Uint64(s.Arguments[4:])))
	}
	f.signposts = append(f.signposts, s)
	return 0
}

func (f *Functions) dladdr(address, info uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outside || address == 0 {
		return 0
	}
	unsafe.Slice((*uintptr)(pointer(info)), 4)[1] = Image
	return 1
}

// of returns subsystem and category of a handle.
func (f *Functions) of(log uintptr) [2]string {
	if i := log - firstLog; i < uintptr(len(f.logs)) {
		return f.logs[i]
	}
	return [2]string{"no such log", "no such log"}
}

// CString returns a C string. It ends at its zero byte, or else after 1024 bytes, with a word that says so.
func CString(address uintptr) string {
	if address == 0 {
		return ""
	}
	for n := range 1024 {
		if all := unsafe.Slice((*byte)(pointer(address)), n+1); all[n] == 0 {
			return string(all[:n])
		}
	}
	return "no zero byte"
}

// pointer is unsafe.Pointer(address) for memory of Go's or C's that a caller keeps.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
