package songs

import "fmt"

// StageByStage returns the route that has for each stage what the dispatcher chooses for it in a first call with inputs of so many
// elements. Unlike a stage without a name, it does not change with lengths. StageByStage fails if the graph does not take such
// inputs.
func (p *Pipeline) StageByStage(name string, elements ...int) (Entrant, error) {
	l, err := p.arranged(elements, 0)
	if err != nil {
		return Entrant{}, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	c, err := p.costs(elements, 0)
	if err != nil {
		return Entrant{}, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	r := make(Route, len(p.w.Stages))
	for i := range r {
		plan := l.steps[i].Plan(p.backends, p.dispatcher)
		r[i] = plan.Explain(l.shapes[i]).Implementation
		plan.Close()
	}
	return c.entrant(name, r), nil
}
