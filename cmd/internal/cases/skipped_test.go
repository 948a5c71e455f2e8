package cases

// skipped lists the cases that need what is not built yet, and says what. It is
// the only such list.
var skipped = map[string]string{
	"cli/a-dry-run-and-a-plan-change-nothing":            needsGC,
	"cli/a-full-pulsar-topic-name-is-one-name":           needsVerify,
	"cli/one-store-spelled-in-several-ways":              needsGC,
	"cli/verify-agrees-after-every-step":                 needsVerify,
	"cli/what-is-not-there-is-exit-3":                    needsGC,
	"cli/what-is-written-as-arrow-can-be-ingested-again": needsFormats,

	"kafka/a-delete-without-retention-deletes-in-one-run":      needsVerify,
	"kafka/a-kafka-segment-becomes-messages":                   needsFormats,
	"kafka/a-producer-without-a-row-left-is-still-known":       needsGC,
	"kafka/a-transaction-may-span-two-runs":                    needsVerify,
	"kafka/a-value-larger-than-every-limit-is-kept":            needsVerify,
	"kafka/an-empty-topic-compacts-to-nothing":                 needsVerify,
	"kafka/collecting-garbage-changes-no-answer":               needsGC,
	"kafka/debezium-events-with-schema":                        needsFormats,
	"kafka/debezium-rows-fold-to-their-last-state":             needsFormats,
	"kafka/kcat-lines-become-messages":                         needsFormats,
	"kafka/markers-are-never-folded-by-key":                    needsGC,
	"kafka/records-without-their-values-are-no-deletes":        needsFormats,
	"kafka/rpk-records-over-several-lines":                     needsFormats,
	"kafka/trim-drops-old-originals-and-keeps-the-last-ledger": needsVerify,

	"pulsar/losers-are-counted-by-their-final-winner": needsVerify,
}

const (
	needsGC      = "compact gc is not built yet"
	needsVerify  = "compact verify is not built yet"
	needsFormats = "formats other than ndjson are not built yet"
)
