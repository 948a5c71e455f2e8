package cases

// skipped lists the cases that need what is not built yet, and says what. It is
// the only such list.
var skipped = map[string]string{}
