// Package model holds the whole product to a model of it: a topic as a list in
// memory, some 300 lines of code that look through everything for every question
// (model_test.go). There is nothing here but tests.
//
// Random histories are led through both (ingests, compactions, trims, settings,
// collections, tags, jumps of the clock), and after every step all that can be
// asked is asked of both. 200 histories run with the other tests; more with
//
//	go test ./internal/model -run TestHistories -timeout 0 -histories 20000 -seed 1
//
// which leads the histories of the seeds 1 to 20000. A failure prints its seed
// and the shortest history that still fails; the same seed makes the same
// history. Three mistakes are made on purpose, to see that they are found.
//
// Beside them, named tests tell in words what users of Pulsar and Kafka have
// run into.
package model
