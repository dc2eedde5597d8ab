package manifest

import (
	"bytes"
	"encoding/json"
)

// Encode returns the text of a manifest: its recording, processes and snapshots.
func (m *Manifest) Encode() ([]byte, error) {
	records := []record{{Schema: Schema}}
	if m.Recording != nil {
		records = append(records, record{Recording: m.Recording})
	}
	for i := range m.Processes {
		records = append(records, record{Process: &m.Processes[i]})
	}
	for i := range m.Snapshots {
		records = append(records, record{Snapshot: &m.Snapshots[i]})
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for _, r := range records {
		if err := lines.Encode(r); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
