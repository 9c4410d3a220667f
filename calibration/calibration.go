// Package calibration is the file calibration.json: what a calibration found, for many hosts.
//
// It owns the JSON tags and nothing else does. It does not measure, fit or choose. The usual steps of a program that
// writes the file are
//
//  1. Update the file, which reads it under a lock;
//  2. in Update's function, look at the entry that is there and Merge the fresh one.
//
// Save writes a file of its own. A program that only wants one entry takes LoadIndex, which decodes no other. The same
// value always becomes the same bytes. Schema describes the format to other tools.
package calibration

import "time"

// SchemaVersion is the version that this package writes. A reader accepts every minor version of its own major one: a
// minor version may add fields, which an older reader ignores, but no values to the fields that there are. It also accepts
// every version from 1.0 on. Version 2 added the operations.
const SchemaVersion = "2.0"

// MaxFileBytes is the greatest size of a file in bytes: 1 000 hosts of the whole catalogue with a GPU fit in. A longer file
// is refused before it is read.
const MaxFileBytes = 512 << 20

// MaxHostBytes is the greatest size of a host in a file, in bytes.
const MaxHostBytes = 8 << 20

// MaxHosts is the greatest number of hosts in a file.
const MaxHosts = 10_000

// MostName is the greatest number of bytes in the id of a host and in the name of a case, an implementation, an axis or a
// parameter: samples and charts are files with these names.
const MostName = 200

// MaxInFlight is the greatest number of calls in flight that a file may name: no queue of a GPU needs more to be full.
const MaxInFlight = 1024

// SimulatedPrefix begins the ids of hosts that a model stands for. No measured host has such an id, so a simulated host
// never passes for a measured one.
const SimulatedPrefix = "simulated-"

// File is the whole calibration file.
type File struct {
	SchemaVersion string `json:"schema_version"`
	Hosts         []Host `json:"hosts"` // sorted by ID, each once
}

// Host is the calibration of one machine.
type Host struct {
	ID          string      `json:"id"`        // slug: "apple-m3-max-40", "amd-epyc-f25m17s1-2-nvidia-h200"
	Simulated   bool        `json:"simulated"` // computed from a model, not measured
	Facts       Facts       `json:"facts"`
	Environment Environment `json:"environment"`
	Created     time.Time   `json:"created"` // UTC, whole seconds
	Method      Method      `json:"method"`
	Warnings    []string    `json:"warnings,omitempty"` // of the calibration as a whole; those of one case are with it
	Runs        []Run       `json:"runs,omitempty"`     // the others that cases are from; Created, Environment and Method are one more
	Cases       []Case      `json:"cases"`              // sorted by Name, each once

	// Operations are sorted by Name, then by Placement, each pair once. There are none in a file of version 1, and of an
	// operation with a single axis, whose case says it all.
	Operations []Operation `json:"operations,omitempty"`

	// Edited says that the entry was read from a file and does not match its digest there. The entry was edited, or a
	// disk has damaged it. It is accepted all the same. An entry without a digest is not edited.
	Edited bool `json:"-"`
}

// Facts is the machine as far as its times depend on it.
type Facts struct {
	Chip             string `json:"chip"`         // "Apple M3 Max", "AMD EPYC"
	Family           string `json:"family"`       // slug shared by the chip's siblings: "apple-m3"; "" if unknown
	Architecture     string `json:"architecture"` // GOARCH
	Cores            int    `json:"cores"`        // logical processors that the process may use
	PerformanceCores int    `json:"performance_cores"`
	EfficiencyCores  int    `json:"efficiency_cores"`

	// CoreKinds is the kinds of cores, the fastest first, where they are other ones than performance and efficiency. The
	// two counts are 0 then. Kinds reads both.
	CoreKinds []CoreKind `json:"core_kinds,omitempty"`

	// Which processor it is, in the words of its vendor. "" and 0 where it was not told, as in entries of version 1.0.
	Vendor      string `json:"vendor,omitempty"`     // "AuthenticAMD"
	CPUFamily   string `json:"cpu_family,omitempty"` // "25"
	CPUModel    string `json:"cpu_model,omitempty"`  // "17"
	Stepping    string `json:"stepping,omitempty"`   // "1"
	L1DataBytes int64  `json:"l1_data_bytes,omitempty"`
	L2Bytes     int64  `json:"l2_bytes,omitempty"`
	L3Bytes     int64  `json:"l3_bytes,omitempty"`

	MemoryBytes    int64  `json:"memory_bytes"`
	GPU            string `json:"gpu"` // "" where there is none that Crossover drives
	GPUCores       int    `json:"gpu_cores"`
	GPUMemoryBytes int64  `json:"gpu_memory_bytes"` // 0 where memory is unified or there is no GPU
}

// CoreKind is one kind of core. It is an alias, so that Facts converts to host.Facts.
type CoreKind = struct {
	Name  string `json:"name"` // as the system has it: "Super", "Performance"
	Count int    `json:"count"`
}

// Environment is what ran on the machine, and in which state. Power, PowerMode and Priority are the worse of their
// values before and after the sweep.
type Environment struct {
	OS          string  `json:"os"`                     // GOOS
	OSVersion   string  `json:"os_version"`             // "Debian GNU/Linux 12 (bookworm)"
	Driver      string  `json:"driver"`                 // GPU driver and its version, "" without one
	UndrivenGPU string  `json:"undriven_gpu,omitempty"` // a GPU that no driver was loaded for; "" where there was none, or nobody looked
	Go          string  `json:"go"`
	ToolVersion string  `json:"tool_version"`
	ToolCommit  string  `json:"tool_commit"`          // "" where the build does not know it
	Power       string  `json:"power"`                // "mains", "battery", "unknown"
	PowerMode   string  `json:"power_mode,omitempty"` // "normal", "low", "unknown"; "" where it was not asked
	Priority    string  `json:"priority,omitempty"`   // of the process: "normal", "lowered", "background", "unknown"; "" where it was not asked
	Thermal     string  `json:"thermal"`              // "nominal", "fair", "serious", "critical", "unknown"
	Load        float64 `json:"load"`                 // runnable processes, mean of the minute before the sweep; −1 if unknown

	// Sentinel is what the sweep's sentinel saw; nil where that was not noted.
	Sentinel *Sentinel `json:"sentinel,omitempty"`
}

// Sentinel is what fixed work took during the sweep. It shows how fast the machine's processors are together. On a
// virtual machine that changes from one hour to the next, and small parallel calls change with it.
type Sentinel struct {
	Processors int            `json:"processors"`     // that took part
	Baseline   SentinelTimes  `json:"baseline"`       // what readings were compared with, as it stood last
	Kept       *SentinelTimes `json:"kept,omitempty"` // medians of the readings beside blocks that were kept
	Readings   int            `json:"readings"`       // of which Kept is the median
	// Epochs is 1, and 1 more for each lasting change of the processor's clock, of what all processors take at once, and of
	// a hand-over; 0 where that was not noted.
	Epochs    int              `json:"epochs,omitempty"`
	Crowded   *Crowded         `json:"crowded,omitempty"`          // nil where that was not noted
	Discarded *DiscardedBlocks `json:"discarded_blocks,omitempty"` // nil where there were none, or that was not noted
}

// Crowded is for how much of a run processors did not reach their speed all at once.
type Crowded struct {
	Share              float64 `json:"share"`                // of the time
	AllProcessorsRatio float64 `json:"all_processors_ratio"` // meanwhile, the median
}

// DiscardedBlocks counts the blocks that a run threw away, by the reason.
type DiscardedBlocks struct {
	Disturbed   int `json:"disturbed,omitempty"`   // the sentinel was off its baseline
	Neighbours  int `json:"neighbours,omitempty"`  // somebody else used the core of a batch, or of another processor
	Replaced    int `json:"replaced,omitempty"`    // taken on a machine that was not quiet, and kept until there were others
	Collections int `json:"collections,omitempty"` // the garbage collector ran
	Restarts    int `json:"restarts,omitempty"`    // the machine turned out to be quieter later
}

// SentinelTimes is what fixed work took. A time of 0 is not known, and not in the file.
type SentinelTimes struct {
	OneProcessorSeconds float64 `json:"one_processor_seconds,omitempty"`
	AllProcessorsRatio  float64 `json:"all_processors_ratio,omitempty"` // all at once over one alone, the same work each
	HandoverSeconds     float64 `json:"handover_seconds,omitempty"`     // from one processor to the next
}

// Method says how the calibration was made, so that it can be repeated.
type Method struct {
	Seed          uint64  `json:"seed"`
	BudgetSeconds float64 `json:"budget_seconds"`
	SpentSeconds  float64 `json:"spent_seconds"`
	Precision     float64 `json:"precision"`           // aimed-at half width of a threshold's interval, relative
	Mode          string  `json:"mode"`                // "latency" or "throughput"
	InFlight      int     `json:"in_flight,omitempty"` // calls of a GPU that were under way at a time; throughput alone
	State         string  `json:"state"`               // "warm", "cold" or "after-idle"
	TieBand       float64 `json:"tie_band"`            // greatest of the cases' tie bands
	Audio         string  `json:"audio"`               // what the audio operations computed on: "generated" or a file's name
}

// Case is what was found for one operation with every parameter fixed but the axis.
type Case struct {
	Name            string           `json:"name"`          // "fft/batch=1"
	Run             int              `json:"run,omitempty"` // that measured it: 0 is the entry's own, n is Host.Runs[n-1]
	Operation       string           `json:"operation"`
	Parameters      map[string]int   `json:"parameters"`
	Axis            Axis             `json:"axis"`
	Implementations []Implementation `json:"implementations"`
	Verdict         Verdict          `json:"verdict"`
	Reason          string           `json:"reason"`   // why the verdict is what it is, "" where the segments say it all
	Degraded        bool             `json:"degraded"` // the machine was not quiet; the sentinel kept moving
	Segments        []Segment        `json:"segments"` // ascending, without gaps or overlaps; empty only if unresolved
	TieBand         float64          `json:"tie_band"` // relative difference below which two times are the same
	Sizes           []int            `json:"sizes"`    // every measured size, ascending, so that a check can take others
	Blocks          int              `json:"blocks"`
	Samples         string           `json:"samples,omitempty"` // digest of the sample file, as package timings gives it; "" where none was noted
	Earlier         []Earlier        `json:"earlier,omitempty"` // further runs that the case was fitted from, the newest first
	ExpectedRegret  float64          `json:"expected_regret"`   // mean of Regret, 0 where that is below or not known
	Regret          *Regret          `json:"regret,omitempty"`  // nil where nothing could be held out
	Warnings        []string         `json:"warnings"`
}

// Earlier is what a run before the newest one measured of a case.
type Earlier struct {
	Run     int    `json:"run"` // as Case.Run
	Blocks  int    `json:"blocks"`
	Samples string `json:"samples"` // digest of the sample file
}

// Axis is the swept parameter and the range over which it was measured.
type Axis struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // what a size is a number of, for people to read: "samples"; at most MostUnit characters
	From int    `json:"from"`
	To   int    `json:"to"`
}

// MostUnit is the greatest number of characters in the unit of an axis.
const MostUnit = 32

// Implementation is one implementation of a case, and how it fared.
type Implementation struct {
	Name          string  `json:"name"`
	Processor     string  `json:"processor"`      // "cpu" or "gpu"
	Version       string  `json:"version"`        // of the library behind it, "" for Crossover's own code
	RelativeError float64 `json:"relative_error"` // greatest seen; −1 where an excluded one has no finite error
	Excluded      string  `json:"excluded"`       // why it was not timed, "" where it was
	Cost          *Cost   `json:"cost,omitempty"`

	// GPUTimes says where the time of a GPU's call goes, at the least and at the greatest size with an account of the
	// GPU.
	GPUTimes []GPUTimes `json:"gpu_times,omitempty"`
}

// GPUTimes is where the time of a call goes at one size: medians over the blocks.
type GPUTimes struct {
	Size          int     `json:"size"`
	WallSeconds   float64 `json:"wall_seconds"`   // of a call, as the sweep timed it
	GPUSeconds    float64 `json:"gpu_seconds"`    // that the device computed, or from its first command to its last
	EncodeSeconds float64 `json:"encode_seconds"` // that the host handed the work over
	GapSeconds    float64 `json:"gap_seconds"`    // between two kernels, on average; 0 if unknown or none

	// LaunchEfficiency is GPU ÷ wall, paired inside blocks. It may exceed 1 if calls in flight overlap on the device.
	// It may exceed 1 a little because a call that the device times takes longer.
	LaunchEfficiency float64 `json:"launch_efficiency"`
}

// Cost is the model a + b·n^c of an implementation's time at size n. It serves to draw, to cross-check, and to predict
// a wait. Segments are not made from it.
type Cost struct {
	FixedSeconds float64 `json:"fixed_seconds"` // a ≥ 0
	SizeSeconds  float64 `json:"size_seconds"`  // b ≥ 0
	Exponent     float64 `json:"exponent"`      // c ≥ 0
	Residual     float64 `json:"residual"`      // median |measured/model − 1|
}

// Verdict says what kind of answer a case got.
type Verdict string

// The verdicts of a case.
const (
	Crossover  Verdict = "crossover"  // the winner changes at a size that the data pin down
	Always     Verdict = "always"     // one implementation is chosen at every measured size
	Tie        Verdict = "tie"        // the best ones stay within the tie band everywhere
	Unresolved Verdict = "unresolved" // the data do not decide
)

// Segment is an interval of sizes with one chosen implementation.
type Segment struct {
	From           int           `json:"from"` // the threshold: first size of the segment
	To             int           `json:"to"`   // last size of the segment
	Implementation string        `json:"implementation"`
	Interval       *Interval     `json:"interval,omitempty"` // of From; nil for the first segment
	Next           []Alternative `json:"next"`               // the others, best first
	Doubts         []Doubt       `json:"doubts,omitempty"`   // parts of the segment in which another one may be faster
}

// Doubt is a part of a segment in which another implementation may be faster: the samples have it so, and resampling does
// not keep it.
type Doubt struct {
	From           int    `json:"from"`
	To             int    `json:"to"`
	Implementation string `json:"implementation"`

	// Tie says that the two differ by no more than the tie band there. Otherwise it depends on the state of the machine
	// which one is faster.
	Tie bool `json:"tie"`
}

// Regret is what choices cost on timings that did not choose: their time over that of the best choices, minus 1, as a
// geometric mean over log-size. Noise makes it negative where the choices are right.
type Regret struct {
	Mean  float64  `json:"mean"`
	Upper *float64 `json:"upper"` // of a one-sided 95 % interval; null where too little could be held out
	Parts int      `json:"parts"` // how many Upper rests on: runs, or sizes of a single run
}

// Interval is the 95 % confidence interval of a threshold, in units of the axis: of what the next run would find.
type Interval struct {
	Low  int `json:"low"`
	High int `json:"high"`

	// AssumedBetweenRuns is the standard deviation of a log-ratio between runs that the interval assumes, because a single
	// run does not show it. It is 0, and not in the file, where several runs did.
	AssumedBetweenRuns float64 `json:"assumed_between_runs,omitempty"`
}

// Alternative is what to take if a program lacks a segment's implementation.
type Alternative struct {
	Implementation string  `json:"implementation"`
	Slowdown       float64 `json:"slowdown"` // its time over the chosen one's, mean over the segment's measured sizes
}
