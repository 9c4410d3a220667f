package dispatch

import (
	"strings"
	"testing"
	"time"
)

// A zero dispatcher does what a nil one does.
func TestAZeroDispatcher(t *testing.T) {
	var d Dispatcher
	if got := d.Case("fft/batch=1", "go", "metal").Choose(4096); got != CPU {
		t.Errorf("it chooses %q, want %q", got, CPU)
	}
	if err := d.Swap(testFile()); err == nil || !strings.Contains(err.Error(), "Load or New") {
		t.Errorf("it takes a calibration: %v", err)
	}
	d.OnFailure(func(Failure) {})
	d.Failed("metal", nil)
	d.Retry()
	d.SetGPUWait(time.Second)
	d.OnMemoryPressure(func() {})()
	for _, err := range []error{d.SetThermal("serious"), d.SetMemoryPressure("critical")} {
		if err != nil {
			t.Error(err)
		}
	}
	if d.Fallback() != noCalibration {
		t.Errorf("its fallback is %q", d.Fallback())
	}
}

func TestANilClockIsTheSystems(t *testing.T) {
	d, err := New(testFile(), WithClock(nil), WithHost(m3Max))
	if err != nil {
		t.Fatal(err)
	}
	d.Case("fft/batch=1", "go").Explain(4096) // with the age of the measurement
}

// Two cases stay apart even if their names and implementations, joined, are equal.
func TestNamesWithControlCharacters(t *testing.T) {
	d, err := New(testFile())
	if err != nil {
		t.Fatal(err)
	}
	strange := d.Case("fft/batch=1\x00go", "metal")
	if d.Case("fft/batch=1", "go\x00metal") == strange || d.Case("fft/batch=1", "go", "metal") == d.Case("fft/batch=1", "go\x00metal") {
		t.Error("two cases are the same")
	}
	for _, name := range []string{"fft/batch=1\x00go", "fft/batch=1\x1b[2J", "\x00"} {
		c := d.Case(name)
		if why := c.Explain(64).Reason; c.Choose(64) != CPU || !strings.Contains(why, "control character") || strings.ContainsAny(why, "\x00\x1b") {
			t.Errorf("%q: chooses %s, explained by %q", name, c.Choose(64), why)
		}
	}
}

func TestUnforced(t *testing.T) {
	file := testFile()
	t.Setenv(ForceVariable, "fft=nonsense")
	d, err := New(file, Unforced())
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Case("fft/batch=1", "go", "nonsense").Choose(64); got == "nonsense" {
		t.Errorf("it chooses what %s asks for", ForceVariable)
	}
}
