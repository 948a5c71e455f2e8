package compact

import (
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
)

func topics() program.Command { return topic.ListCommand() }
