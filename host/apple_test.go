package host

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// object is an object of the fake registry: a string, a number, or something else.
type object any

// fakeMac stands in for IOKit, CoreFoundation and the Objective-C runtime, and counts references. A function that creates or
// copies an object adds one reference, which the caller must release.
type fakeMac struct {
	t          *testing.T
	properties []object // of the services, one each; nil if a service lacks it
	powered    object   // the power source; nil if the system does not say
	state      ref      // NSProcessInfo's thermal state
	lowPower   bool     // NSProcessInfo's
	missing    string   // the function or class that the system lacks

	objects  []object
	owned    map[ref]int
	services map[uint32]int
	given    int
	sent     map[string]bool // selectors
	pools    int
}

func (m *fakeMac) add(o object, owned bool) ref {
	m.objects = append(m.objects, o)
	r := ref(len(m.objects))
	if owned {
		m.owned[r]++
	}
	return r
}

const iterator = 1000

func newFakeMac(t *testing.T) *fakeMac {
	m := &fakeMac{t: t, owned: map[ref]int{}, services: map[uint32]int{}, sent: map[string]bool{}}
	t.Cleanup(func() {
		for r, count := range m.owned {
			if count != 0 {
				t.Errorf("object %v is held %d times at the end", m.objects[r-1], count)
			}
		}
		for s, count := range m.services {
			if count != 0 {
				t.Errorf("service %d is held %d times at the end", s, count)
			}
		}
		if m.pools != 0 {
			t.Errorf("%d pools are open at the end", m.pools)
		}
	})
	return m
}

func (m *fakeMac) ioKit() *ioKit {
	kind := func(r ref) uint {
		switch m.objects[r-1].(type) {
		case string:
			return 7
		case int:
			return 22
		}
		return 1
	}
	return &ioKit{
		serviceMatching: func(class string) ref {
			if m.missing == "class" {
				return 0
			}
			return m.add("IOProviderClass="+class, true)
		},
		matchingServices: func(port uint32, matching ref, services *uint32) int32 {
			m.owned[matching]--
			if m.missing == "services" {
				return -1
			}
			if m.objects[matching-1] != "IOProviderClass=AGXAccelerator" || port != 0 {
				m.t.Errorf("services of %v at port %d", m.objects[matching-1], port)
			}
			*services = iterator
			m.services[iterator]++
			return 0
		},
		next: func(uint32) uint32 {
			if m.given == len(m.properties) {
				return 0
			}
			m.given++
			m.services[uint32(m.given)]++
			return uint32(m.given)
		},
		property: func(service uint32, key, _ ref, _ uint32) ref {
			if m.objects[key-1] != "gpu-core-count" || m.properties[service-1] == nil {
				return 0
			}
			return m.add(m.properties[service-1], true)
		},
		releaseObject: func(service uint32) int32 { m.services[service]--; return 0 },
		copySources: func() ref {
			if m.missing == "sources" {
				return 0
			}
			return m.add([]string{"sources"}, true)
		},
		providing: func(ref) ref {
			if m.powered == nil {
				return 0
			}
			return m.add(m.powered, false)
		},
		release:    func(r ref) { m.owned[r]-- },
		typeOf:     kind,
		numberType: func() uint { return 22 },
		numberValue: func(r ref, kind int, value *int64) bool {
			*value = int64(m.objects[r-1].(int))
			return kind == 4
		},
		stringType: func() uint { return 7 },
		newString: func(_ ref, text string, _ uint32) ref {
			if m.missing == "string" {
				return 0
			}
			return m.add(text, true)
		},
		stringBytes: func(r ref, to *byte, size int, _ uint32) bool {
			text := m.objects[r-1].(string)
			if len(text) >= size {
				return false
			}
			copy(unsafe.Slice(to, size), text+"\x00")
			return true
		},
	}
}

func TestGPUCores(t *testing.T) {
	for _, test := range []struct {
		name       string
		properties []object
		missing    string
		want       int
	}{
		{"a GPU of 40 cores", []object{40}, "", 40},
		{"a service without the property before it", []object{nil, 10}, "", 10},
		{"two that tell", []object{8, 76}, "", 76},
		{"no such GPU", nil, "", 0},
		{"text", []object{"forty"}, "", 0},
		{"a negative number", []object{-1}, "", 0},
		{"an absurd number", []object{1 << 40}, "", 0},
		{"no key", []object{40}, "string", 0},
		{"no such class", []object{40}, "class", 0},
		{"no services", []object{40}, "services", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newFakeMac(t)
			m.properties, m.missing = test.properties, test.missing
			if got := m.ioKit().gpuCores(); got != test.want {
				t.Errorf("%d cores, want %d", got, test.want)
			}
		})
	}
	if got := (*ioKit)(nil).gpuCores(); got != 0 {
		t.Errorf("%d cores without IOKit", got)
	}
}

func TestApplePowerSource(t *testing.T) {
	for _, test := range []struct {
		powered object
		missing string
		want    string
	}{
		{"AC Power", "", "mains"},
		{"Battery Power", "", "battery"},
		{"UPS Power", "", "battery"},
		{"Dilithium", "", "unknown"},
		{"a name that is longer than any that the system has", "", "unknown"},
		{42, "", "unknown"},
		{nil, "", "unknown"},
		{"AC Power", "sources", "unknown"},
	} {
		m := newFakeMac(t)
		m.powered, m.missing = test.powered, test.missing
		if got := m.ioKit().powerSource(); got != test.want {
			t.Errorf("powered by %v: %q, want %q", test.powered, got, test.want)
		}
	}
	if got := (*ioKit)(nil).powerSource(); got != "unknown" {
		t.Errorf("%q without IOKit", got)
	}
}

func (m *fakeMac) objectiveC() *objectiveC {
	const class, process = 10, 11
	return &objectiveC{
		class: func(name string) ref {
			if name != "NSProcessInfo" || m.missing == "class" {
				return 0
			}
			return class
		},
		selector: func(name string) ref { return m.add(name, false) },
		send: func(receiver, selector ref) ref {
			m.sent[m.objects[selector-1].(string)] = true
			if m.pools == 0 {
				m.t.Error("a message without a pool")
			}
			switch {
			case receiver == class && m.objects[selector-1] == "processInfo":
				if m.missing == "process" {
					return 0
				}
				return process
			case receiver == process && m.objects[selector-1] == "thermalState":
				return m.state
			case receiver == process && m.objects[selector-1] == "isLowPowerModeEnabled":
				answer := ref(0xabcdef00) // the result is the lowest byte
				if m.lowPower {
					answer++
				}
				return answer
			}
			m.t.Errorf("%d does not understand %v", receiver, m.objects[selector-1])
			return 0
		},
		push: func() ref { m.pools++; return 5 },
		pop: func(pool ref) {
			if m.pools--; pool != 5 {
				m.t.Errorf("pool %d is popped", pool)
			}
		},
	}
}

func TestAppleThermalState(t *testing.T) {
	for _, test := range []struct {
		state   ref
		missing string
		want    string
	}{
		{0, "", "nominal"}, {1, "", "fair"}, {2, "", "serious"}, {3, "", "critical"},
		{4, "", "unknown"}, {^ref(0), "", "unknown"}, {0, "class", "unknown"}, {0, "process", "unknown"},
	} {
		m := newFakeMac(t)
		m.state, m.missing = test.state, test.missing
		if got := m.objectiveC().thermalState(); got != test.want {
			t.Errorf("state %d without %q: %q, want %q", test.state, test.missing, got, test.want)
		}
	}
	if got := (*objectiveC)(nil).thermalState(); got != "unknown" {
		t.Errorf("%q without Foundation", got)
	}
	for _, word := range processThermalStates {
		if !slices.Contains(thermalStates, word) {
			t.Errorf("%q is no thermal state", word)
		}
	}
}

func TestApplePowerMode(t *testing.T) {
	for _, test := range []struct {
		low     bool
		missing string
		want    string
	}{
		{false, "", "normal"}, {true, "", "low"}, {true, "class", "unknown"}, {true, "process", "unknown"},
	} {
		m := newFakeMac(t)
		m.lowPower, m.missing = test.low, test.missing
		if got := m.objectiveC().powerMode(); got != test.want {
			t.Errorf("low power %v without %q: %q, want %q", test.low, test.missing, got, test.want)
		}
	}
	if got := (*objectiveC)(nil).powerMode(); got != "unknown" {
		t.Errorf("%q without Foundation", got)
	}
}

// The messages that this package sends are in Apple's headers, with the results in the headers.
func TestSelectors(t *testing.T) {
	text, err := os.ReadFile("testdata/selectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	encodings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); !strings.HasPrefix(line, "#") {
			encodings[fields[1]] = fields[2]
		}
	}
	m := newFakeMac(t)
	appleCondition(keys(nil), nil, m.objectiveC(), nil)
	for selector := range m.sent {
		if encodings[selector] == "" {
			t.Errorf("%s is in no header", selector)
		}
	}
	taken := map[string]string{"processInfo": "@|", "thermalState": "q|", "isLowPowerModeEnabled": "B|"}
	for selector, encoding := range encodings {
		if !m.sent[selector] || taken[selector] != encoding {
			t.Errorf("%s: sent %v and taken for %s, and is %s", selector, m.sent[selector], taken[selector], encoding)
		}
	}
}

// scheduled is a process as the fake schedules it: QoS classes of a thread and of the main thread, and what getpriority
// returns of the process.
func scheduled(t *testing.T, thread, main uint32, nice, darwin int32) *scheduling {
	return &scheduling{
		qosOfThread: func() uint32 { return thread },
		qosOfMain:   func() uint32 { return main },
		getPriority: func(which int32, who uint32) int32 {
			if who != 0 {
				t.Errorf("the priority of %d", who)
			}
			switch which {
			case 0:
				return nice
			case 4:
				return darwin
			}
			t.Errorf("the priority of kind %d", which)
			return 0
		},
	}
}

func TestApplePriority(t *testing.T) {
	const unspecified, maintenance, background, utility, usual, initiated, interactive = 0, 0x05, 0x09, 0x11, 0x15, 0x19, 0x21
	for name, c := range map[string]struct {
		thread, main uint32
		nice, darwin int32
		want         string
	}{
		"from a terminal":             {unspecified, unspecified, 0, 0, "normal"},
		"the usual class":             {usual, usual, 0, 0, "normal"},
		"an application":              {usual, interactive, 0, 0, "normal"},
		"its worker":                  {initiated, interactive, 0, 0, "normal"},
		"taskpolicy -b":               {unspecified, unspecified, 0, 1, "background"},
		"taskpolicy -b, as a flag":    {unspecified, unspecified, 0, 0x1000, "background"},
		"a launchd job in background": {unspecified, background, 0, 0, "background"},
		"the same, on Go's thread":    {usual, background, 0, 0, "background"},
		"below background":            {unspecified, maintenance, 0, 0, "background"},
		"a background thread":         {background, interactive, 0, 0, "background"},
		"taskpolicy -c utility":       {unspecified, utility, 0, 0, "lowered"},
		"nice":                        {unspecified, unspecified, 10, 0, "lowered"},
		"nice in the background":      {unspecified, unspecified, 10, 1, "background"},
		"nice the other way":          {unspecified, unspecified, -5, 0, "normal"},
		"getpriority fails":           {unspecified, unspecified, -1, -1, "normal"},
	} {
		if got := scheduled(t, c.thread, c.main, c.nice, c.darwin).priority(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := (*scheduling)(nil).priority(); got != "unknown" {
		t.Errorf("%q without the C library", got)
	}
}

// Functions of macOS must be bound to types that C functions can have. RegisterFunc panics for others.
func TestFunctionsCanBeBound(t *testing.T) {
	for _, table := range []any{new(ioKit), new(objectiveC), new(scheduling)} {
		fields := reflect.ValueOf(table).Elem()
		for i := range fields.NumField() {
			function := reflect.New(fields.Type().Field(i).Type)
			purego.RegisterFunc(function.Interface(), 1)
			if function.Elem().IsNil() {
				t.Errorf("%s is not bound", fields.Type().Field(i).Name)
			}
		}
	}
}
