//go:build (darwin || linux) && (amd64 || arm64)

package objc

import (
	"strings"
	"testing"
	"unsafe"
)

// There is no runtime in these tests. So neither the package's own methods nor the methods declared here are ever
// called.

type (
	mtlSize  struct{ Width, Height, Depth uint }
	nsRange  struct{ Location, Length uint }
	tooSmall struct{ A uint32 }
	ofFloats struct{ A, B, C float64 }
)

func TestEncoding(t *testing.T) {
	for _, test := range []struct {
		declare func() binder
		want    string
	}{
		{func() binder { return Declare[func(ID)]("C", "a") }, "v|"},
		{func() binder { return Declare[func(ID) ID]("C", "b") }, "@|"},
		{func() binder { return Declare[func(_, _ ID, _, _ uint) ID]("C", "c:d:e:") }, "@|@QQ"},
		{func() binder { return Declare[func(ID, int, uint32, int32, uint8, uint64) int]("C", "f:g:h:i:j:") }, "q|qIiCQ"},
		{func() binder { return Declare[func(ID, float64, float32, bool) float64]("C", "k:l:m:") }, "d|dfB"},
		{func() binder { return Declare[func(ID, unsafe.Pointer, *ID, string, Selector) string]("C", "n:o:p:q:") }, "^|^^^:"},
		{func() binder { return Declare[func(ID, mtlSize, nsRange) mtlSize]("C", "r:s:") }, "{MTLSize}|{MTLSize}{NSRange}"},
		{func() binder { return Declare[func(ID, []int)]("C", "t:") }, "v|?[]int"},
		// One argument has another width than newBufferWithLength:options: declares.
		{func() binder { return Declare[func(ID, uint32, uint) ID]("MTLDevice", "newBufferWithLength:options:") }, "@|IQ"},
	} {
		if got := test.declare().declaration().Encoding; got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestDeclaredIsSorted(t *testing.T) {
	Declare[func(ID)]("B", "b")
	Declare[func(ID)]("B", "a")
	Declare[func(ID)]("A", "z")
	all := Declared()
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.Class > b.Class || a.Class == b.Class && a.Selector > b.Selector {
			t.Errorf("%v before %v", a, b)
		}
	}
}

// panics returns the reason that a function panics with.
func panics(f func()) (reason string) {
	defer func() {
		if r := recover(); r != nil {
			reason, _ = r.(string)
		}
	}()
	f()
	return ""
}

func TestDeclareRefuses(t *testing.T) {
	for want, declare := range map[string]func(){
		"want a function":                   func() { Declare[int]("C", "a") },
		"the receiver, an ID":               func() { Declare[func(uint)]("C", "a") },
		"at most one result":                func() { Declare[func(ID) (ID, error)]("C", "a") },
		"want fixed arguments":              func() { Declare[func(ID, ...ID)]("C", "a:") },
		"1 arguments; its selector takes 2": func() { Declare[func(ID, ID)]("C", "a:b:") },
		"1 arguments; its selector takes 0": func() { Declare[func(ID, ID)]("C", "a") },
	} {
		if reason := panics(declare); !strings.Contains(reason, want) {
			t.Errorf("%q, want one that says %q", reason, want)
		}
	}
}

func TestMessageRefuses(t *testing.T) {
	var list []Message
	for want, prepare := range map[string]func(){
		"takes no float64":         func() { Declare[func(ID, float64)]("C", "a:").To(&list)(0, 1) },
		"takes no string":          func() { Declare[func(ID, string)]("C", "a:").To(&list)(0, "") },
		"go in registers":          func() { Declare[func(ID, nsRange)]("C", "a:").To(&list)(0, nsRange{}) },
		"takes no objc.tooSmall":   func() { Declare[func(ID, tooSmall)]("C", "a:").To(&list)(0, tooSmall{}) },
		"are not all of type uint": func() { Declare[func(ID, ofFloats)]("C", "a:").To(&list)(0, ofFloats{}) },
		"takes 1 arguments":        func() { Declare[func(ID, ID)]("C", "a:").Bare() },
	} {
		if reason := panics(prepare); !strings.Contains(reason, want) {
			t.Errorf("%q, want one that says %q", reason, want)
		}
	}
	if len(list) != 0 {
		t.Errorf("%d messages are left", len(list))
	}
}

// The words of a message are those that a compiler would pass.
func TestMessageWords(t *testing.T) {
	var list []Message
	m := Declare[func(ID, ID, bool, uint8, int) uint]("C", "a:b:c:d:")
	m.selector = 77
	m.To(&list)(1, 2, true, 3, -1)
	got := list[0].words
	want := []uintptr{0, 77, 2, 1, 3, ^uintptr(0)}
	if len(got) != len(want) {
		t.Fatalf("%d words, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("word %d is %#x, want %#x", i, got[i], want[i])
		}
	}
	list[0].Set(1, 9)
	if list[0].words[3] != 9 {
		t.Error("Set changes another argument")
	}
	if _, results := m, m.To(&list)(1, 2, true, 3, -1); results != 0 {
		t.Error("a prepared call has a result")
	}
}
