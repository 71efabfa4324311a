//go:build race

package poolprom_test

// slowness is how much longer things take under the race detector.
const slowness = 20
