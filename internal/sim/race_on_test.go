//go:build race

package sim

// raceDetector says that everything takes about ten times as long.
const raceDetector = true
