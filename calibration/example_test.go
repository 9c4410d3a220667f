package calibration_test

import (
	"fmt"
	"log"

	"crossover/calibration"
)

func ExampleLoad() {
	file, err := calibration.Load("../dispatch/testdata/calibration.json")
	if err != nil {
		log.Fatal(err)
	}
	for _, host := range file.Hosts {
		for _, c := range host.Cases {
			if host.ID != "apple-m3-max-40" || c.Name != "fft/batch=1" {
				continue
			}
			for _, s := range c.Segments {
				fmt.Printf("%d to %d %s: %s\n", s.From, s.To, c.Axis.Unit, s.Implementation)
			}
		}
	}
	// Output:
	// 64 to 511 samples: go
	// 512 to 8191 samples: accelerate
	// 8192 to 65536 samples: metal
}
