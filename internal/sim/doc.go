// Package sim runs the real jobs and readers, many at once, on a store in
// memory, in a world of which one number, the seed, decides everything: who
// makes the next request, which requests fail and how, what lands long after
// its sender has given up, who is killed, who sleeps, and what the clocks show.
// There is nothing here but tests.
//
//	turnstile_test.go  who goes next: one request at a time
//	fates_test.go      what becomes of a request
//	store_test.go      the store, as one actor sees it
//	nature_test.go     what a seed makes
//	actors_test.go     what actors do
//	clients_test.go    who has messages to add, and what was promised of them
//	readers_test.go    who reads them
//	truth_test.go      what was written, and what must hold after each write
//	ending_test.go     the end: healthy runs, and what must hold then
//	controls_test.go   rules left out on purpose, to see that it is found
//	deeds_test.go      what commands do, one at a time, on a topic that is always the same
//	sweep_test.go      each of them with each of its requests failing, in each way
//	mutations_test.go  objects that are not what was put
//	chain_test.go      the history of commits, held to a model of one register
//
// 200 seeds run with the other tests; more with
//
//	go test ./internal/sim -run TestSimulation -timeout 0 -seeds 100000 -seed 1
//
// A failure prints its seed, and what happened last. The same seed makes the
// same world, to the byte (TestTheSameSeedMakesTheSameTrace), so
//
//	go test ./internal/sim -run TestSimulation -seeds 1 -seed 4711 -trace world.txt
//
// shows all of it.
package sim
