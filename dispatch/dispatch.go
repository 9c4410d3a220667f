// Package dispatch chooses the fastest implementation for a call, by the thresholds in calibration.json.
//
// The package does not compute. It measures only if the program asks for a Watch. A call at a shape that was not measured is predicted from others that
// were. If nothing is known of a call, the answer is [CPU], and Explain says so. The package depends only on the standard
// library and on packages calibration and host, and on macOS on purego, which package host uses. The usual steps are
//
//  1. Load the calibration once, which picks the entry of this host or the nearest match;
//  2. make a Case for each operation and its fixed parameters, with the names of the implementations that the program has;
//  3. call Choose at every call, with its size: a few compares, no lock and no allocation.
//
// For an operation whose calls differ in several parameters, make an Operation in place of a Case, and call ChooseShape. A Watch
// times a few calls, also in the stages of pipelines, and finds choices that no longer hold. Explain gives the reason for a
// choice, and says whether it was measured or predicted. Policies (SetThermal, SetGPUWait, SetMemoryPressure), the environment
// variable CROSSOVER_FORCE and a fresh file (Reload, Swap) change the choices of existing cases.
package dispatch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crossover/calibration"
	"crossover/host"
)

// CPU is the answer of Choose if nothing was measured: the program's own default on the processor.
const CPU = "cpu"

// Dispatcher holds the calibration of this host. A nil Dispatcher and a zero one have no calibration: every choice is
// CPU, or the one that CROSSOVER_FORCE names. All methods may be called concurrently.
type Dispatcher struct {
	host           host.Facts
	allowSimulated bool
	now            func() time.Time
	unforced       bool              // CROSSOVER_FORCE is ignored
	force          map[string]string // forced implementation of CROSSOVER_FORCE, by case or operation
	gpuWait        atomic.Int64      // nanoseconds
	retries        atomic.Uint64     // how often Retry was called
	changes        atomic.Uint64     // how often Retry was called, or a Watch began or ended
	watch          atomic.Pointer[Watch]

	mu         sync.Mutex // guards all fields below, and the building of tables
	entry      entry
	match      *entry // see standIn; nil until it is needed
	thermal    string
	cases      map[caseKey]*Case // nil in a zero dispatcher
	operations map[caseKey]*Operation
	releases   map[*func()]struct{} // called at critical memory pressure
	report     func(Failure)        // nil without OnFailure
	failures   map[string]bool      // implementations that were reported
	recorder   *Recorder            // nil if nothing is recorded

	calibrations uint64  // how often the entry was replaced
	swaps        []*swap // of choices, by a Watch
}

// Option changes how Load and New pick and use an entry.
type Option func(*Dispatcher)

// WithHost picks entries for these facts instead of those of host.Identify. A program that drives a GPU which Identify does
// not see adds it this way.
func WithHost(facts host.Facts) Option { return func(d *Dispatcher) { d.host = facts } }

// AllowSimulated also picks entries that were computed from a model and not measured. Without it, Load and New ignore them.
func AllowSimulated() Option { return func(d *Dispatcher) { d.allowSimulated = true } }

// WithClock sets the clock for the age of a calibration. Nil means time.Now, the default.
func WithClock(now func() time.Time) Option {
	return func(d *Dispatcher) {
		if d.now = now; now == nil {
			d.now = time.Now
		}
	}
}

// Unforced ignores CROSSOVER_FORCE, for a program that checks a calibration.
func Unforced() Option { return func(d *Dispatcher) { d.unforced = true } }

// Load reads a calibration file and picks an entry. The entry of this host comes first, as [host.Facts.Compare] tells it
// from others by the facts alone: Load times nothing. Without it, Load picks the nearest match: of the same chip family, if
// possible with the same GPU and the same processor, and of those the most recent. Without that too, every choice is CPU.
// Fallback reports the last two situations, with what keeps the match from being this host. Load decodes the picked entry
// only. If the entry of this host knows a few cases or shapes of an operation or nothing, the nearest match decides for the
// others, and Explain says so. It is read from the file when such an operation is first asked for.
//
// Load fails, with one line, if there is no file (the error wraps [fs.ErrNotExist]), if the file or its entry is not
// valid, or if the environment variable CROSSOVER_FORCE has a syntax error. CROSSOVER_FORCE overrides choices for
// debugging: "fft=go,conv1d/taps=512=go/fft" forces all cases of one operation and one case of another. If it names an
// unknown operation or case, or an implementation that a case does not have, a line on standard error says so, once.
func Load(path string, options ...Option) (*Dispatcher, error) {
	d := newDispatcher(options)
	e, err := d.load(path)
	if err != nil {
		return nil, err
	}
	return d.start(e)
}

// New returns a dispatcher for a calibration that the program already has. The file must not change afterwards. New
// picks an entry as Load does. With a nil file every choice is CPU.
func New(file *calibration.File, options ...Option) (*Dispatcher, error) {
	d := newDispatcher(options)
	e, err := d.pickOf(file)
	if err != nil {
		return nil, err
	}
	return d.start(e)
}

func newDispatcher(options []Option) *Dispatcher {
	d := &Dispatcher{now: time.Now, thermal: "unknown", cases: map[caseKey]*Case{},
		operations: map[caseKey]*Operation{}, releases: map[*func()]struct{}{}}
	for _, option := range options {
		option(d)
	}
	if reflect.ValueOf(d.host).IsZero() {
		d.host = host.Identify()
	}
	return d
}

// start sets the first entry and the overrides.
func (d *Dispatcher) start(e entry) (*Dispatcher, error) {
	d.entry = e
	if !d.unforced {
		known := e.names()
		if e.near != nil && os.Getenv(ForceVariable) != "" {
			known = append(known, d.standIn().names()...)
		}
		var err error
		if d.force, err = forceFromEnvironment(known); err != nil {
			return nil, fmt.Errorf("dispatch: %w", err)
		}
	}
	d.checkForce()
	return d, nil
}

// pickOf picks from a file that the program already has, nil for none.
func (d *Dispatcher) pickOf(file *calibration.File) (entry, error) {
	candidates := fileCandidates(file)
	return d.pick(candidates, func(pick func([]candidate) (entry, error)) (entry, error) { return pick(candidates) })
}

func (d *Dispatcher) load(path string) (entry, error) {
	again := path
	if whole, err := filepath.Abs(path); err == nil {
		again = whole // for a program that is in another folder by then
	}
	view := func(pick func([]candidate) (entry, error)) (e entry, err error) {
		err = calibration.View(path, func(hosts []calibration.Entry) error {
			e, err = pick(entryCandidates(hosts))
			return err
		})
		path = again
		return e, err
	}
	// Entries may be read inside of View only.
	e, err := view(func(candidates []candidate) (entry, error) { return d.pick(candidates, view) })
	if err != nil {
		return entry{}, fmt.Errorf("dispatch: %w", err)
	}
	return e, nil
}

// none reports whether the dispatcher is nil or zero, and so cannot take a calibration.
func (d *Dispatcher) none() bool { return d == nil || d.cases == nil }

var errNil = errors.New("dispatch: a nil or zero dispatcher takes no calibration; make one with Load or New")

// Reload reads a calibration file again and swaps it in, as Swap does. If Reload fails, the dispatcher keeps its
// calibration.
func (d *Dispatcher) Reload(path string) error {
	if d.none() {
		return errNil
	}
	e, err := d.load(path)
	if err != nil {
		return err
	}
	d.swap(e)
	return nil
}

// Swap replaces the calibration by a fresh one, nil for none. The file must not change afterwards. Existing cases are
// updated, each in one step: a concurrent Choose answers by the old table or by the new one. If the entry is not valid,
// Swap fails and the dispatcher keeps its calibration.
func (d *Dispatcher) Swap(file *calibration.File) error {
	if d.none() {
		return errNil
	}
	e, err := d.pickOf(file)
	if err != nil {
		return err
	}
	d.swap(e)
	return nil
}

func (d *Dispatcher) swap(e entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entry, d.match = e, nil
	d.calibrations++
	d.swaps = nil
	d.checkForce()
	d.rebuild()
}

// rebuild gives every case a new table, and every operation new choices, for the present calibration and policies. The
// caller holds the lock.
func (d *Dispatcher) rebuild() {
	for _, c := range d.cases {
		c.table.Store(d.newTable(c))
	}
	for _, o := range d.operations {
		o.present.Store(d.newOverShapes(o))
	}
}

// Fallback says in one clause why the choices are not based on a measurement of this host. It returns "" if there is one. The choices
// for what it lacks may nevertheless be those of a near match: see [Explanation].
func (d *Dispatcher) Fallback() string {
	if d.none() {
		return noCalibration
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entry.fallback
}

// Case chooses for one case among the implementations of a program. The zero Case always chooses CPU.
type Case struct {
	name     string
	instead  string   // the case to use if the calibration lacks this one, or ""
	names    []string // of implementations that may be chosen; nil for all
	obstacle obstacle
	alone    bool // its segments decide alone, because somebody else knows where they say nothing
	in       routed
	table    atomic.Pointer[table]
}

// Case returns the chooser of a case, such as "fft/batch=1", among the implementations that the program has. If the file's
// choice is not among them, the case chooses the next best implementation that is. A call of Case without names stands for
// all implementations.
//
// A case that was not measured, such as "stft/n_fft=1024,hop=256", is predicted if the calibration predicts the operation.
// The name must have a value for every axis but one. An unknown name is no error: such a case chooses CPU, and Explain says
// what is wrong with the name or which cases have similar names.
//
// A name may end with a placement of the data: "matmul/square,resident". If the calibration has no such case, or measured it at
// one size and predicts no others in that placement, the measured case of data in caller memory decides, if there is one.
//
// Programs call Case when they start, because it builds a table: for a predicted case that takes up to some milliseconds.
// Case returns the same Case for the same arguments.
func (d *Dispatcher) Case(name string, have ...string) *Case {
	if len(have) == 0 {
		return d.CaseOf(name, inCaller(name), "", nil, nil)
	}
	key, have, obstacle := among(have)
	return d.CaseOf(name, inCaller(name), key, have, obstacle)
}

// NotThere is the obstacle of an implementation that a program does not have.
const NotThere = "is not there"

// obstacle says in a few words why a program cannot use an implementation, such as [NotThere]. It returns "" if it can. A nil
// obstacle stands for a program that can use every implementation.
type obstacle = func(implementation string) string

// among returns a key for the implementations of a program, their sorted names without duplicates, and the obstacle of all
// others.
func among(have []string) (key string, names []string, _ obstacle) {
	names = slices.Clone(have)
	slices.Sort(names)
	names = slices.Compact(names)
	return fmt.Sprintf("%q", names), names, func(implementation string) string {
		if slices.Contains(names, implementation) {
			return ""
		}
		return NotThere
	}
}

// CaseOf is Case for a program that does not look for an implementation before the implementation may be chosen. obstacle
// says in a few words why the program cannot use an implementation, such as NotThere, and returns "" if it can. CaseOf asks
// only about implementations that would be chosen, so that a GPU is opened only if it may be the fastest. It asks again when
// the calibration or a policy changes. A nil obstacle stands for a program that can use every implementation.
//
// key identifies obstacle: of two calls with the same name and key, the first obstacle counts. instead is the case to use if
// the calibration lacks the named one, "" for none. names are the implementations that may have no obstacle. If the
// calibration has segments among accurate implementations only, and those are all that the program names, these segments
// decide: see calibration.Case.Among.
func (d *Dispatcher) CaseOf(name, instead, key string, names []string, obstacle func(implementation string) string) *Case {
	return d.CaseIn(nil, name, instead, key, names, obstacle)
}

// CaseIn is CaseOf for a stage of a pipeline that follows a route, or CaseOf for a nil stage. The route decides, unless a
// [Watch] swapped its implementation for the stage. A [Recorder] does not count the calls.
func (d *Dispatcher) CaseIn(s *Stage, name, instead, key string, names []string, obstacle func(implementation string) string) *Case {
	c := &Case{name: name, instead: instead, names: names, obstacle: obstacle, in: s.routed()}
	if d.none() {
		c.table.Store(forcedAlone().newTable(c))
		return c
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	of := caseKey{name, key, c.in}
	if known := d.cases[of]; known != nil {
		return known
	}
	c.table.Store(d.newTable(c))
	d.cases[of] = c
	return c
}

// caseKey tells one Case from another, and one Operation.
type caseKey struct {
	name, have string
	in         routed
}

// Choose returns the name of the implementation to use at a size, in units of the case's axis. It is what
// [Operation.ChooseShape] returns for the same call, unless another measured case, a swap of a [Watch] or a size that somebody
// asked for comes between. No call has a size below 1, and the result means nothing then.
//
// Beyond the measured sizes the nearest segment decides, up to a factor of eight. If the calibration predicts the operation,
// times are predicted further away, in gaps of more than a factor of five between measured sizes, and at lengths of Fourier
// transforms with other prime factors than the measured lengths next to them.
//
// Choose waits for nothing, allocates nothing and takes a few nanoseconds. Where times are predicted in place of a measurement, and
// along the length of a transform that is no power of two, it takes as long as ChooseShape. It also takes longer while SetGPUWait
// says that the GPU is busy.
func (c *Case) Choose(size int) string {
	t := c.table.Load()
	if t == nil {
		return CPU
	}
	if t.counter != nil {
		t.counter.size(size)
	}
	return t.at(size).at(size)
}

// Peek returns what Choose returns. A [Recorder] does not count it.
func (c *Case) Peek(size int) string {
	t := c.table.Load()
	if t == nil {
		return CPU
	}
	return t.at(size).at(size)
}
