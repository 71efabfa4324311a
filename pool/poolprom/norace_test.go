//go:build !race

package poolprom_test

const slowness = 1
