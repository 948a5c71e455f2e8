package cases

// skipped lists the cases that need what is not built yet, and says what. It is
// the only such list.
var skipped = map[string]string{
	"cli/what-is-written-as-arrow-can-be-ingested-again": needsFormats,

	"kafka/a-kafka-segment-becomes-messages":            needsFormats,
	"kafka/debezium-events-with-schema":                 needsFormats,
	"kafka/debezium-rows-fold-to-their-last-state":      needsFormats,
	"kafka/kcat-lines-become-messages":                  needsFormats,
	"kafka/records-without-their-values-are-no-deletes": needsFormats,
	"kafka/rpk-records-over-several-lines":              needsFormats,
}

const (
	needsFormats = "formats other than ndjson are not built yet"
)
