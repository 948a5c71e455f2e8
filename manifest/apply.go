package manifest

func (Append) kind() string  { return "append" }
func (Compact) kind() string { return "compact" }
func (Trim) kind() string    { return "trim" }
func (Set) kind() string     { return "set" }
func (Delete) kind() string  { return "delete" }

func (e Append) apply(m *Manifest, c Change) error  { panic("not built") }
func (e Compact) apply(m *Manifest, c Change) error { panic("not built") }
func (e Trim) apply(m *Manifest, c Change) error    { panic("not built") }
func (e Set) apply(m *Manifest, c Change) error     { panic("not built") }
func (e Delete) apply(m *Manifest, c Change) error  { panic("not built") }
