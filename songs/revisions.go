package songs

import (
	"fmt"
	"slices"

	"crossover/calibration"
	"crossover/kernels"
)

// Revisions returns the revisions of the implementations of all stages that are not 0, as a measured length has them: see
// [kernels.Implementation]. A route may leave a stage to the dispatcher, so all implementations count.
func (p *Pipeline) Revisions() (all []calibration.StageRevision) {
	for i := range p.w.Stages {
		for _, m := range p.implementations(i) {
			if m.Revision != 0 {
				all = append(all, calibration.StageRevision{Stage: p.names[i], Implementation: m.Name, Revision: m.Revision})
			}
		}
	}
	if p.parts != nil {
		all = append(all, calibration.StageRevision{Stage: p.parts.frames.names[0], Implementation: inPartsName, Revision: inPartsRevision})
	}
	return all
}

// How long inputs are computed has a revision too, which stands for an implementation of the first stage. Without it, all frames were
// timed at once.
const (
	inPartsName     = "in-parts"
	inPartsRevision = 1
)

// isOtherwise reports whether calls of a measured length are computed in another way now.
func (p *Pipeline) isOtherwise(l *calibration.PipelineLength) bool {
	s := p.parts
	return s != nil && len(l.Elements) > 0 && s.count(l.Elements[0]) > partOnProcessor && l.RevisionOf(s.frames.names[0], inPartsName) != inPartsRevision
}

// implementations returns the implementations of a stage.
func (p *Pipeline) implementations(i int) []kernels.Implementation {
	step, err := p.w.usual(&p.w.Stages[i])
	if err != nil {
		return nil // the graph has been wired, so this does not happen
	}
	return step.Implementations(p.backends)
}

// changed returns an implementation of a stage that has another revision than at a measured length and takes another time there now,
// and "" if there is none. name is the only one that counts, or "" for all that the dispatcher may choose. What cannot run here does
// not count.
func (p *Pipeline) changed(l *calibration.PipelineLength, i int, name string) string {
	for _, m := range p.implementations(i) {
		revision := l.RevisionOf(p.names[i], m.Name)
		if (name == "" || m.Name == name) && m.Revision != revision && m.Missing() == nil && !p.holds(l, i, m, revision) {
			return m.Name
		}
	}
	return ""
}

// holds reports whether no change of a stage's implementation since a revision concerns the stage at a measured length, on the
// machine that measured it.
func (p *Pipeline) holds(l *calibration.PipelineLength, i int, m kernels.Implementation, revision int) bool {
	at, err := p.arranged(l.Elements[:min(len(l.Elements), len(p.w.Inputs))], 0)
	return err == nil && m.Holds(revision, at.shapes[i], p.dispatcher.Processors())
}

// doubt returns why a measured route is not believed: an implementation of a stage has changed since, so the route takes another
// time now. It returns "" if none has, and for a route that cannot run here.
func (p *Pipeline) doubt(l *calibration.PipelineLength, r *calibration.Route) string {
	for i, name := range r.Implementations {
		if name != "" && !slices.ContainsFunc(p.implementations(i), func(m kernels.Implementation) bool { return m.Name == name && m.Missing() == nil }) {
			return ""
		}
	}
	if p.isOtherwise(l) {
		return fmt.Sprintf("; what was measured at %v elements does not count, because such inputs are computed in parts since (calibrate --pipelines measures again)",
			l.Elements[:len(p.w.Inputs)])
	}
	for i, name := range r.Implementations {
		if changed := p.changed(l, i, name); changed != "" {
			return fmt.Sprintf("; what was measured at %v elements does not count, because %s of stage %s has changed since (calibrate --pipelines measures again)",
				l.Elements[:len(p.w.Inputs)], changed, p.names[i])
		}
	}
	return ""
}

// believed returns the parts of a measured length without those of implementations that have changed since.
func (p *Pipeline) believed(l *calibration.PipelineLength) []calibration.Part {
	if p.isOtherwise(l) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.Parts), func(part calibration.Part) bool {
		i := slices.Index(p.names, part.Name)
		return part.Implementation != "" && i >= 0 && p.changed(l, i, part.Implementation) != ""
	})
}
