package kerneltest

import (
	"testing"

	"github.com/sbinet/npyio/npz"
)

// ReadArchived reads the named array from a NumPy archive (.npz). If it cannot, it fails the test.
func ReadArchived[T any](t testing.TB, path, name string) []T {
	t.Helper()
	f, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var values []T
	if err := f.Read(name+".npy", &values); err != nil {
		t.Fatalf("%s: %s: %v", path, name, err)
	}
	return values
}
