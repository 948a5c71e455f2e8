package manifest

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheFormatPageIsTrue compares the tables of docs/format-manifest.md with
// the fields that are written.
func TestTheFormatPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/format-manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	for title, v := range map[string]any{
		"## Manifest": wireManifest{}, "### Segment": Segment{}, "### Producer": Producer{}, "### Quarantined": Quarantined{},
	} {
		got, want := tableFields(string(page), title), jsonFields(reflect.TypeOf(v))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s lists\n%q, written are\n%q", title, got, want)
		}
	}
	for _, e := range []Edit{Append{}, Compact{}, Trim{}, Set{}, Delete{}, Collect{}, Quarantine{}, Lift{}} {
		if !regexp.MustCompile(`what made it:.*\b` + e.kind() + `\b`).Match(page) {
			t.Errorf("the page does not name the kind %q", e.kind())
		}
	}
}

// tableFields lists what stands in backquotes in the first column of the table
// below a heading.
func tableFields(page, title string) []string {
	_, rest, _ := strings.Cut(page, "\n"+title+"\n")
	var fields []string
	inTable := false
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			if inTable {
				break
			}
			continue
		}
		inTable = true
		for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			fields = append(fields, m[1])
		}
	}
	return fields
}

func jsonFields(typ reflect.Type) []string {
	var fields []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			fields = append(fields, jsonFields(f.Type)...)
		default:
			fields = append(fields, name)
		}
	}
	return fields
}
