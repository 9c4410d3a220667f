// Package calibration reads and writes the file calibration.json: what calibrations found, for many hosts.
//
// Only this package has JSON tags of the file. It does not measure, fit or choose. The usual steps of a program that writes
// the file are
//
//  1. call Update, which reads the file under a lock;
//  2. in Update's function, look at the entry that is there, and call Merge with the new one.
//
// Save writes a new file. A program that wants only one entry calls View, which decodes no other. Equal values always
// become the same bytes. Schema describes the format to other tools.
package calibration

import "time"

// SchemaVersion is the version that this package writes. A reader accepts every minor version of its own major version, and
// every version from 1.0 on. A minor version may add fields, which an older reader ignores. It may not add values to
// existing fields. Version 2 added the operations, version 2.1 the sizes of the hosts, version 2.2 the costs of surfaces, and version
// 2.3 whether the machine was quiet while shapes were measured. A reader that does not know the costs chooses badly at shapes that
// were not measured.
const SchemaVersion = "2.3"

// MaxFileBytes is the greatest size of a file in bytes. Six hundred hosts, each with a GPU and the whole catalogue, fit into
// it. A longer file is refused before it is read.
const MaxFileBytes = 512 << 20

// MaxHostBytes is the greatest size of a host in a file, in bytes.
const MaxHostBytes = 8 << 20

// MaxHosts is the greatest number of hosts in a file.
const MaxHosts = 10_000

// MostName is the greatest number of bytes in the id of a host and in the name of a case, an implementation, an axis or a
// parameter. Names of samples and charts contain these names.
const MostName = 200

// MaxInFlight is the greatest number of calls in flight in a file. More calls never help to fill the queue of a GPU.
const MaxInFlight = 1024

// SimulatedPrefix begins the ids of modelled hosts. No measured host has such an id, so a simulated host never passes for a
// measured one.
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
	Warnings    []string    `json:"warnings,omitempty"` // of the calibration as a whole; each case has its own
	Runs        []Run       `json:"runs,omitempty"`     // runs of cases other than the run of Created, Environment and Method
	Cases       []Case      `json:"cases"`              // sorted by Name, each once

	// Operations are sorted by Name, then by Placement. Each pair is there once. Files of version 1 have none. Operations
	// with a single axis have none either, because their case says everything.
	Operations []Operation `json:"operations,omitempty"`

	// Pipelines are sorted by Name, each there once. They are those that somebody asked to be measured.
	Pipelines []Pipeline `json:"pipelines,omitempty"`

	// Edited says that the entry does not match the digest in its file. Somebody edited the entry, or a disk damaged it. The
	// entry is accepted nevertheless. An entry without a digest is not edited.
	Edited bool `json:"-"`
}

// Facts are the facts of a machine on which its times depend.
type Facts struct {
	Chip             string `json:"chip"`         // "Apple M3 Max", "AMD EPYC"
	Family           string `json:"family"`       // slug shared by the chip's siblings: "apple-m3"; "" if unknown
	Architecture     string `json:"architecture"` // GOARCH
	Cores            int    `json:"cores"`        // logical processors that the process may use
	PerformanceCores int    `json:"performance_cores"`
	EfficiencyCores  int    `json:"efficiency_cores"`

	// CoreKinds are the kinds of cores, the fastest first, if they are not performance and efficiency cores. The two counts
	// are 0 then. Kinds reads both.
	CoreKinds []CoreKind `json:"core_kinds,omitempty"`

	// The vendor's words for the processor. They are "" and 0 if they are not known, as in entries of version 1.0.
	Vendor      string `json:"vendor,omitempty"`     // "AuthenticAMD"
	CPUFamily   string `json:"cpu_family,omitempty"` // "25"
	CPUModel    string `json:"cpu_model,omitempty"`  // "17"
	Stepping    string `json:"stepping,omitempty"`   // "1"
	L1DataBytes int64  `json:"l1_data_bytes,omitempty"`
	L2Bytes     int64  `json:"l2_bytes,omitempty"`
	L3Bytes     int64  `json:"l3_bytes,omitempty"`

	MemoryBytes    int64  `json:"memory_bytes"`
	GPU            string `json:"gpu"` // "" if there is none that Crossover can use
	GPUCores       int    `json:"gpu_cores"`
	GPUMemoryBytes int64  `json:"gpu_memory_bytes"` // 0 if memory is unified or there is no GPU
}

// CoreKind is one kind of core. It is an alias, so that Facts converts to host.Facts.
type CoreKind = struct {
	Name  string `json:"name"` // in the system's words: "Super", "Performance"
	Count int    `json:"count"`
}

// Environment describes the software of the machine and its state. Power, PowerMode and Priority are the worse of their
// values before and after the sweep.
type Environment struct {
	OS          string  `json:"os"`                     // GOOS
	OSVersion   string  `json:"os_version"`             // "Debian GNU/Linux 12 (bookworm)"
	Driver      string  `json:"driver"`                 // GPU driver and its version; "" if there is none
	UndrivenGPU string  `json:"undriven_gpu,omitempty"` // a GPU without a loaded driver; "" if there is none, or in older entries
	Go          string  `json:"go"`
	ToolVersion string  `json:"tool_version"`
	ToolCommit  string  `json:"tool_commit"`          // "" if it is not known; ends with "+dirty" if files differed from it
	Power       string  `json:"power"`                // "mains", "battery", "unknown"
	PowerMode   string  `json:"power_mode,omitempty"` // "normal", "low", "unknown"; "" if it was not recorded
	Priority    string  `json:"priority,omitempty"`   // of the process: "normal", "lowered", "background", "unknown"; "" if it was not recorded
	Thermal     string  `json:"thermal"`              // "nominal", "fair", "serious", "critical", "unknown"
	Load        float64 `json:"load"`                 // runnable processes, mean of the minute before the sweep; −1 if unknown

	// Sentinel is what the sweep's sentinel measured; nil if that was not recorded.
	Sentinel *Sentinel `json:"sentinel,omitempty"`
}

// Sentinel holds the times of fixed work during the sweep. They show how fast the processors of the machine are together. On
// a virtual machine that may change within an hour, and small parallel calls change with it.
type Sentinel struct {
	Processors int            `json:"processors"`     // number of processors that took part
	Baseline   SentinelTimes  `json:"baseline"`       // the last baseline with which readings were compared
	Kept       *SentinelTimes `json:"kept,omitempty"` // medians of the readings next to kept blocks
	Readings   int            `json:"readings"`       // number of readings behind Kept
	// Epochs is 1 plus the number of lasting changes: of the processor's clock, of the time of all processors at once, and
	// of a hand-over. It is 0 if that was not recorded.
	Epochs    int              `json:"epochs,omitempty"`
	Crowded   *Crowded         `json:"crowded,omitempty"`          // nil if that was not recorded
	Company   *float64         `json:"company,omitempty"`          // share of the run in which others usually used the core of the calls; nil if that was not recorded
	Discarded *DiscardedBlocks `json:"discarded_blocks,omitempty"` // nil if there were none, or if that was not recorded
}

// Crowded says in which part of a run processors were slower together than alone.
type Crowded struct {
	Share              float64 `json:"share"`                // of the run's time
	AllProcessorsRatio float64 `json:"all_processors_ratio"` // median of the ratio in that part
}

// DiscardedBlocks counts the blocks that a run threw away, by reasons.
type DiscardedBlocks struct {
	Disturbed   int `json:"disturbed,omitempty"`   // the sentinel was off its baseline
	Neighbours  int `json:"neighbours,omitempty"`  // another program used the core of a batch, or of another processor of the batch
	Replaced    int `json:"replaced,omitempty"`    // measured on a machine that was not quiet, and kept only until others replaced them
	Collections int `json:"collections,omitempty"` // the garbage collector ran
	Restarts    int `json:"restarts,omitempty"`    // the machine turned out to be quieter later
}

// SentinelTimes are the times of fixed work. A time of 0 is not known, and left out of the file.
type SentinelTimes struct {
	OneProcessorSeconds float64 `json:"one_processor_seconds,omitempty"`
	AllProcessorsRatio  float64 `json:"all_processors_ratio,omitempty"` // time of all at once divided by that of one alone, with the same work each
	HandoverSeconds     float64 `json:"handover_seconds,omitempty"`     // from one processor to the next
}

// Method says how the calibration was made, so that it can be repeated.
type Method struct {
	Seed          uint64  `json:"seed"`
	BudgetSeconds float64 `json:"budget_seconds"`
	SpentSeconds  float64 `json:"spent_seconds"`
	Precision     float64 `json:"precision"`           // aimed half width of a threshold's interval, relative
	Mode          string  `json:"mode"`                // "latency" or "throughput"
	InFlight      int     `json:"in_flight,omitempty"` // number of a GPU's calls under way at a time; in throughput mode only
	State         string  `json:"state"`               // "warm", "cold" or "after-idle"
	TieBand       float64 `json:"tie_band"`            // greatest of the cases' tie bands
	Audio         string  `json:"audio"`               // input of the audio operations: "generated" or the name of a file
}

// Case is the result for one line of an operation, with all parameters fixed but the axis.
type Case struct {
	Name            string           `json:"name"`          // "fft/batch=1"
	Run             int              `json:"run,omitempty"` // the newest run of the case: 0 is the entry's own, n is Host.Runs[n-1]
	Operation       string           `json:"operation"`
	Parameters      map[string]int   `json:"parameters"`
	Axis            Axis             `json:"axis"`
	Implementations []Implementation `json:"implementations"`
	Verdict         Verdict          `json:"verdict"`
	Reason          string           `json:"reason"`           // reason for the verdict; "" if the segments say everything
	Degraded        bool             `json:"degraded"`         // the machine was not quiet; the sentinel kept moving
	Segments        []Segment        `json:"segments"`         // ascending, without gaps or overlaps; empty only if unresolved
	Within          []Within         `json:"within,omitempty"` // among accurate implementations, by bound, the least first; nil if all promise the same
	TieBand         float64          `json:"tie_band"`         // relative difference below which two times are the same
	Sizes           []int            `json:"sizes"`            // every measured size, ascending, so that a check can use others
	Blocks          int              `json:"blocks"`
	Samples         string           `json:"samples,omitempty"` // digest of the sample file, from package timings; "" if none was recorded
	Earlier         []Earlier        `json:"earlier,omitempty"` // earlier runs from which the case was fitted, the newest first
	ExpectedRegret  float64          `json:"expected_regret"`   // mean of Regret, or 0 if that is negative or not known
	Regret          *Regret          `json:"regret,omitempty"`  // nil if nothing could be held out
	Warnings        []string         `json:"warnings"`
}

// Earlier is the part of an earlier run in a case.
type Earlier struct {
	Run     int    `json:"run"` // number of the run, as in Case.Run
	Blocks  int    `json:"blocks"`
	Samples string `json:"samples"` // digest of the sample file
}

// Axis is the parameter that varies along a case, and its measured range.
type Axis struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // unit of a size, for people: "samples"; at most MostUnit characters
	From int    `json:"from"`
	To   int    `json:"to"`
}

// MostUnit is the greatest number of characters in the unit of an axis.
const MostUnit = 32

// Implementation is one implementation of a case or an operation.
type Implementation struct {
	Name          string  `json:"name"`
	Processor     string  `json:"processor"`             // "cpu" or "gpu"
	Version       string  `json:"version"`               // version of its library; "" for Crossover's own code
	Revision      int     `json:"revision,omitempty"`    // of our own code, by its declaration: see kernels.Implementation
	RelativeError float64 `json:"relative_error"`        // greatest error; −1 if an excluded one has no finite error
	ErrorBound    float64 `json:"error_bound,omitempty"` // that it promises and was judged by; 0 if it was the operation's tolerance
	Excluded      string  `json:"excluded"`              // why it was not timed; "" if it was
	Wrong         bool    `json:"wrong,omitempty"`       // it is excluded for wrong values or impossible times
	Cost          *Cost   `json:"cost,omitempty"`

	// GPUTimes says how the time of calls on a GPU is spent, at the least and at the greatest size at which the GPU measured
	// its own times.
	GPUTimes []GPUTimes `json:"gpu_times,omitempty"`
}

// GPUTimes says how the time of a call is spent at one size. The times are medians over blocks.
type GPUTimes struct {
	Size          int     `json:"size"`
	WallSeconds   float64 `json:"wall_seconds"`   // time of a call in the sweep
	GPUSeconds    float64 `json:"gpu_seconds"`    // time in which the device computed, or from its first command to its last
	EncodeSeconds float64 `json:"encode_seconds"` // time in which the host handed the work over
	GapSeconds    float64 `json:"gap_seconds"`    // mean time between two kernels; 0 if there is none or it is unknown

	// LaunchEfficiency is GPU ÷ wall, paired inside blocks. It may exceed 1 if calls in flight overlap on the device. It may
	// also exceed 1 a little because a call takes longer if the device times it.
	LaunchEfficiency float64 `json:"launch_efficiency"`
}

// Cost is the model a + b·n^c of an implementation's time at size n. It is used for checks and for predicting a wait.
// Segments do not depend on it.
type Cost struct {
	FixedSeconds float64 `json:"fixed_seconds"` // a ≥ 0
	SizeSeconds  float64 `json:"size_seconds"`  // b ≥ 0
	Exponent     float64 `json:"exponent"`      // c ≥ 0
	Residual     float64 `json:"residual"`      // median |measured/model − 1|
}

// Verdict is the kind of a case's result.
type Verdict string

// The verdicts of a case.
const (
	Crossover  Verdict = "crossover"  // the winner changes at a size that the data determine
	Always     Verdict = "always"     // one implementation is chosen at every measured size
	Tie        Verdict = "tie"        // the best ones are within the tie band everywhere
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

// Doubt is a part of a segment in which another implementation may be faster. The samples say so, but a resampling of them
// does not confirm it.
type Doubt struct {
	From           int    `json:"from"`
	To             int    `json:"to"`
	Implementation string `json:"implementation"`

	// Tie says that the two differ by no more than the tie band there. Otherwise the faster one depends on the state of the
	// machine.
	Tie bool `json:"tie"`
}

// Regret is the cost of choices on timings that had no part in them: the time with the choices divided by that with the best
// ones, minus 1, as a geometric mean over log-size. It may be negative by noise.
type Regret struct {
	Mean  float64  `json:"mean"`
	Upper *float64 `json:"upper"` // of a one-sided 95 % interval; null if too little could be held out
	Parts int      `json:"parts"` // number of values behind Upper: runs, or sizes of a single run
}

// Interval is the 95 % confidence interval of a threshold, in units of the axis: of what the next run would find.
type Interval struct {
	Low  int `json:"low"`
	High int `json:"high"`

	// AssumedBetweenRuns is the standard deviation of a log-ratio between runs that the interval assumes, because a single
	// run does not show it. It is 0, and not in the file, if several runs showed it.
	AssumedBetweenRuns float64 `json:"assumed_between_runs,omitempty"`
}

// Alternative is an implementation to take if a program lacks the one of a segment.
type Alternative struct {
	Implementation string  `json:"implementation"`
	Slowdown       float64 `json:"slowdown"` // its time divided by that of the chosen one, as a mean over the segment's measured sizes
}
