package signpost

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// macOS shows name and text of an interval long after it was emitted. On a Mac this test says whether the names of a profile can be read.
func TestSignpostsOfMacOS(t *testing.T) {
	find, err := System()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := Library(t.TempDir(), "a name from the library")
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(find, texts, "crossover.test", "test", "a name from the library")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("a text of %d", time.Now().UnixNano())
	id := k.Begin(text)
	if id == 0 {
		t.Fatal("macOS has disabled signposts of the category test")
	}
	k.End(id)
	if n := testing.AllocsPerRun(100, func() { k.End(k.Begin("allocates nothing")) }); n > 0 {
		t.Errorf("an interval allocates %g times", n)
	}
	var said []byte
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		said, err = exec.Command("/usr/bin/log", "show", "--last", "1m", "--signpost", "--predicate", `subsystem == "crossover.test"`).CombinedOutput()
		if err != nil {
			t.Skipf("log show: %v: %s", err, said)
		}
		for line := range strings.Lines(string(said)) {
			if strings.Contains(line, text) && strings.Contains(line, "a name from the library") {
				return
			}
		}
	}
	t.Errorf("log show does not have the interval %q with its name:\n%s", text, said)
}
