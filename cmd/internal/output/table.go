package output

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// pageRows is how many rows a table waits for before it knows how wide its
// columns are. What comes later is shown page by page, at least as wide.
const pageRows = 100

// Table shows rows for people, page by page, so a table of any length starts
// at once and takes no memory. Cells are escaped.
type Table struct {
	w       io.Writer
	columns []Column
	rows    []table.Row
	widths  []int
	begun   bool
}

// Column of a table.
type Column struct {
	Name  string
	Right bool // numbers are
	Most  int  // letters that are shown of a cell; 0: all
}

// NewTable makes a table on w. A table without rows is not shown at all.
func NewTable(w io.Writer, columns ...Column) *Table {
	t := &Table{w: w, columns: columns, widths: make([]int, len(columns))}
	for i, c := range columns {
		t.widths[i] = text.StringWidth(c.Name)
	}
	return t
}

// Row adds a row of one cell for each column.
func (t *Table) Row(cells ...any) error {
	row := make(table.Row, len(t.columns))
	for i, c := range t.columns {
		cell := Escape(fmt.Sprint(cells[i]))
		if c.Most > 0 && text.StringWidth(cell) > c.Most {
			cell = text.Trim(cell, c.Most-1) + "…"
		}
		t.widths[i] = max(t.widths[i], text.StringWidth(cell))
		row[i] = cell
	}
	t.rows = append(t.rows, row)
	if len(t.rows) == pageRows {
		return t.Close()
	}
	return nil
}

// Close shows what is left.
func (t *Table) Close() error {
	if len(t.rows) == 0 {
		return nil
	}
	page := table.NewWriter()
	page.SetStyle(plainStyle)
	var header table.Row
	var configs []table.ColumnConfig
	for i, c := range t.columns {
		header = append(header, c.Name)
		config := table.ColumnConfig{Number: i + 1, WidthMin: t.widths[i]}
		if c.Right {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, config)
	}
	page.SetColumnConfigs(configs)
	if !t.begun {
		page.AppendHeader(header)
	}
	page.AppendRows(t.rows)
	page.SuppressTrailingSpaces()
	t.rows, t.begun = nil, true
	_, err := fmt.Fprintln(t.w, page.Render())
	return err
}

// plainStyle has columns and nothing between them, which copies well.
var plainStyle = table.Style{
	Name:    "plain",
	Box:     table.BoxStyle{PaddingRight: "  "},
	Format:  table.FormatOptions{Header: text.FormatUpper},
	Options: table.Options{},
}

// List shows names and values of one thing, a line each.
type List struct {
	w     io.Writer
	names []string
	texts []string
}

// NewList makes a list on w.
func NewList(w io.Writer) *List { return &List{w: w} }

// Add adds a line.
func (l *List) Add(name string, value any) {
	l.names = append(l.names, name)
	l.texts = append(l.texts, Escape(fmt.Sprint(value)))
}

// Close shows the list.
func (l *List) Close() error {
	width := 0
	for _, name := range l.names {
		width = max(width, len(name))
	}
	for i, name := range l.names {
		if _, err := fmt.Fprintf(l.w, "%-*s  %s\n", width, name, l.texts[i]); err != nil {
			return err
		}
	}
	return nil
}
