//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"crossover/gpu"
)

// compileAnew compiles the tests' text as a new process would, and returns how often NVRTC was asked.
func compileAnew(t *testing.T, f *fake) int {
	t.Helper()
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	device, err := gpu.NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	before := f.calls("nvrtcCompileProgram")
	if err := compute(device); err != nil {
		t.Fatal(err)
	}
	return f.calls("nvrtcCompileProgram") - before
}

// compute makes a plan of the tests' text and runs it.
func compute(device *gpu.Device) error {
	p, err := newScalePlan(device, 64)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.check(1)
}

// entries returns the files in the cache.
func entries(t *testing.T, f *fake) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCache(t *testing.T) {
	f := loadFake(t)
	if got := compileAnew(t, f); got != 1 {
		t.Errorf("compiled %d times with an empty cache; want 1", got)
	}
	if got := compileAnew(t, f); got != 0 {
		t.Errorf("compiled %d times with a full cache; want 0", got)
	}
	files := entries(t, f)
	if len(files) != 1 {
		t.Fatalf("the cache holds %q; want one entry", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{
		"empty": {}, "cut off": whole[:len(whole)/2], "one bit flipped": append(bytes.Clone(whole[:100]), append([]byte{whole[100] ^ 1}, whole[101:]...)...),
		"something else": []byte("hello, this is not machine code, and long enough to hold a checksum"),
	} {
		if err := os.WriteFile(files[0], broken, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := compileAnew(t, f); got != 1 {
			t.Errorf("%s: compiled %d times; want 1", name, got)
		}
		if mended, _ := os.ReadFile(files[0]); !bytes.Equal(mended, whole) {
			t.Errorf("%s: the entry was not mended", name)
		}
	}
	// The driver refuses what lies in the cache, and then gets a fresh copy.
	f.fail("cuModuleLoadData", 1, 209)
	if got := compileAnew(t, f); got != 1 {
		t.Errorf("with an entry that the driver refuses: compiled %d times; want 1", got)
	}
}

func TestForget(t *testing.T) {
	f := loadFake(t)
	other := filepath.Join(f.cache, "0123.cubin")
	if err := os.WriteFile(other, []byte("of another process"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	device, err := gpu.NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if err := compute(device); err != nil {
			t.Fatal(err)
		}
		if got := len(entries(t, f)); got != 2 {
			t.Errorf("round %d: %d entries; want ours and the other one", round, got)
		}
		device.Forget()
		if got := entries(t, f); len(got) != 1 || got[0] != other {
			t.Errorf("round %d: %q after Forget; want the other process's alone", round, got)
		}
	}
	if got := f.calls("nvrtcCompileProgram"); got != 2 {
		t.Errorf("compiled %d times; want 2", got)
	}
}

// Everything else that the machine code depends on makes another entry.
func TestCacheKey(t *testing.T) {
	c := &compiler{version: "NVRTC 13.0", architecture: "sm_90"}
	key := c.cache.key(c, "text")
	if got := c.cache.key(&compiler{version: "NVRTC 13.0", architecture: "sm_90"}, "text"); got != key {
		t.Error("the same text has two keys")
	}
	for name, other := range map[string]string{
		"text":         c.cache.key(c, "text "),
		"architecture": c.cache.key(&compiler{version: "NVRTC 13.0", architecture: "sm_100"}, "text"),
		"NVRTC":        c.cache.key(&compiler{version: "NVRTC 13.1", architecture: "sm_90"}, "text"),
	} {
		if other == key {
			t.Errorf("another %s has the same key", name)
		}
	}
}

// A cache that cannot be used costs time and nothing else.
func TestNoCache(t *testing.T) {
	for name, folder := range map[string]string{"off": "off", "below a file": "/dev/null/cache"} {
		t.Run(name, func(t *testing.T) {
			f := loadFake(t)
			t.Setenv(cacheEnvironment, folder)
			for range 2 {
				if got := compileAnew(t, f); got != 1 {
					t.Errorf("compiled %d times; want 1", got)
				}
			}
		})
	}
}

// Without the variable the cache is below the user's folder.
func TestCacheFolder(t *testing.T) {
	t.Setenv(cacheEnvironment, "")
	t.Setenv("XDG_CACHE_HOME", "/somewhere")
	c := newCache()
	if want := "/somewhere/crossover/cuda"; c.folder != want {
		t.Errorf("folder %q; want %q", c.folder, want)
	}
}
