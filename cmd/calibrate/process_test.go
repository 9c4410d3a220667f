package main

import (
	"os"
	"os/exec"
	"testing"
)

// runTest runs one test of this program in a new process, which loads libraries anew, and returns what it printed.
func runTest(t *testing.T, name string, environment ...string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^"+name+"$")
	command.Env = append(os.Environ(), environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
