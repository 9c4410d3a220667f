package profiles

// Place says where a span's work is done.
type Place string

// The places.
const (
	Processor Place = "processor"
	GPU       Place = "gpu"
	Transfer  Place = "transfer" // moving data, in memory or between memories
)

// Span is a stretch of a call in which one thing was done: a stage, a list of kernels, or a move of data. Times are in seconds
// from the beginning of the call. The spans of a call do not overlap.
type Span struct {
	Name           string   `json:"name"`   // of the stage; of a list, the names of its stages, joined by " + "
	Stages         []string `json:"stages"` // of a list, in their order; of a stage, itself; none for a move of data
	Place          Place    `json:"place"`
	Implementation string   `json:"implementation,omitempty"`
	Begin          float64  `json:"begin_seconds"`
	End            float64  `json:"end_seconds"`
	Device         *Device  `json:"device,omitempty"` // of a list of kernels, or of a stage alone on a GPU
	Work           Work     `json:"work"`
}

// Seconds returns the length of the span.
func (s *Span) Seconds() float64 { return s.End - s.Begin }

// Work is what a span has to do by the declarations of its operations. Sums of stages are sums of their work.
type Work struct {
	Bytes      float64 `json:"bytes"`            // read and written once
	Operations float64 `json:"operations"`       // of floating point, a multiply-add counted as two
	Pieces     float64 `json:"pieces,omitempty"` // parts that cores can compute at the same time; 0 stands for many
	Chain      float64 `json:"chain,omitempty"`  // steps of the longest recurrence; 0 if there is none
}

// Device says where the time of a list of kernels went, or that of a stage alone on a GPU, in seconds. The host's times, In to
// Out, follow each other. The device's times are 0 where it does not tell. All are 0 in a call that the processor computed.
type Device struct {
	In     float64 `json:"copy_in_seconds"`  // host: copies before the launch
	Launch float64 `json:"launch_seconds"`   // host: handing the list to the device
	Wait   float64 `json:"wait_seconds"`     // host: from then until the results can be read
	Out    float64 `json:"copy_out_seconds"` // host: copies after that

	Span    float64 `json:"span_seconds"`    // device: from the first command's start to the last one's end
	Busy    float64 `json:"kernels_seconds"` // device: the kernels alone
	Gaps    float64 `json:"gaps_seconds"`    // device: pauses between kernels
	Kernels int     `json:"kernels"`         // of Busy
	Moved   float64 `json:"moved_bytes"`     // between processor and device
}

// Transfers returns the device's time that is neither kernels nor pauses between them. It is 0 where the device does not tell how
// long kernels take.
func (d *Device) Transfers() float64 {
	if d.Busy == 0 {
		return 0
	}
	return max(0, d.Span-d.Busy-d.Gaps)
}

// kernels returns how long kernels took, with the pauses between them if the device tells no more. It is 0 if it tells nothing.
func (d *Device) kernels() float64 {
	if d.Busy == 0 {
		return d.Span
	}
	return d.Busy
}
