// Pipeline: how micro-batches pass through the stages, and traffic beyond the chip.
import { card, el, hideTip, legend, note, showTip, svg } from './elements';
import { bytes, percent, plural, time, whole } from './format';
import { plainTable } from './table';
import type { Context, View } from './view';
import { whyBlock } from './why';
import type { Reason } from './why';
import type { Summary } from './summary_data';

interface Pipeline {
  stages: [number, number, string, number, number, number, number][];
  phases: [string, number, number, number, number, number, number][];
  turns: [number, number, [number, number, number, number, number][]][];
  transfers: [string, string, number, number, Reason][];
}

const FORWARD = '#7ab8e6',
  BACKWARD = '#e58fa0';

function turnsChart(data: Pipeline, span: (cycles: number) => string, context: Context): HTMLElement {
  const ipus = [...new Set(data.stages.map((stage) => stage[1]))].sort((a, b) => a - b);
  const box = el('div', { class: 'chart', role: 'img', 'aria-label': 'First turns of the pipeline' });
  const last = data.turns.at(-1);
  const end = last ? last[0] + last[1] : 1;
  const backward = new Set(data.stages.filter((stage) => stage[5] > stage[3]).map((stage) => stage[0]));
  context.redraw(() => {
    const width = Math.max(480, box.clientWidth || 900),
      left = 56,
      high = 34,
      height = ipus.length * high + 26;
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, height });
    const sx = (cycles: number) => left + ((width - left - 6) * cycles) / end;
    ipus.forEach((ipu, index) => root.append(svg('text', { x: 0, y: index * high + 21 }, `IPU ${ipu}`)));
    data.turns.forEach(([start, , work], number) => {
      root.append(svg('line', { x1: sx(start), x2: sx(start), y1: 0, y2: ipus.length * high, class: 'grid' }));
      for (const [ipu, stage, batch, offset, spent] of work) {
        const x = sx(start + offset),
          wide = Math.max(0.8, sx(start + offset + spent) - x),
          y = ipus.indexOf(ipu) * high + 3;
        const rect = svg('rect', {
          x,
          y,
          width: wide,
          height: high - 6,
          rx: 2,
          class: 'box',
          fill: backward.has(stage) ? BACKWARD : FORWARD,
        });
        rect.addEventListener('pointermove', (event) =>
          showTip(event.clientX, event.clientY, `stage ${stage} on IPU ${ipu}`, [
            ['turn', whole(number)],
            ['micro-batch', whole(batch)],
            ['cycles', whole(spent)],
            ['time', span(spent)],
          ]),
        );
        rect.addEventListener('pointerleave', hideTip);
        root.append(rect);
        if (wide > 26) root.append(svg('text', { x: x + 4, y: y + 18, class: 'inside' }, String(batch)));
      }
    });
    for (let k = 0; k <= 4; k++) {
      root.append(
        svg(
          'text',
          { x: sx((end * k) / 4), y: height - 4, 'text-anchor': k === 4 ? 'end' : k ? 'middle' : 'start' },
          span((end * k) / 4),
        ),
      );
    }
    box.replaceChildren(root);
  });
  return box;
}

async function part(host: HTMLElement, context: Context, report: string, label: string): Promise<void> {
  const [data, summary] = await Promise.all([
    context.source.json(report, 'pipeline') as Promise<Pipeline>,
    context.source.json(report, 'summary') as Promise<Summary>,
  ]);
  const span = (cycles: number) => time(cycles / Number(summary.target.clock_hz));
  const of = label ? `${label}: ` : '';
  if (data.turns.length) {
    host.append(
      card(
        `${of}First ${plural(data.turns.length, 'turn')}`,
        turnsChart(data, span, context),
        legend([
          ['mostly forward', FORWARD],
          ['mostly backward', BACKWARD],
        ]),
        note(
          'The numbers are micro-batches. A turn lasts until its busiest IPU has finished; then the IPUs exchange data. Gaps are bubbles: an IPU waits. The chart follows the schedule; it is not a recording.',
        ),
      ),
    );
  } else
    host.append(
      note(`${of}This program is not a pipeline: its IPUs do not work on different micro-batches at the same time.`),
    );
  if (data.stages.length) {
    host.append(
      card(
        `${of}Stages`,
        plainTable(
          'stages',
          [
            ['stage', true],
            ['IPU', true],
            ['does'],
            ['forward', true],
            ['recomputed', true],
            ['backward', true],
            ['copied', true],
          ],
          data.stages.map(([stage, ipu, does, forward, again, back, copied]) => [
            whole(stage),
            whole(ipu),
            does.replaceAll(',', ', '),
            span(forward),
            span(again),
            span(back),
            bytes(copied),
          ]),
        ),
      ),
    );
  }
  if (data.phases.length) {
    host.append(
      card(
        `${of}Fill, steady state and drain`,
        plainTable(
          'phases of the pipeline',
          [
            ['phase'],
            ['IPU', true],
            ['stage', true],
            ['turns', true],
            ['with work', true],
            ['cycles', true],
            ['busy', true],
          ],
          data.phases.map(([phase, ipu, stage, turns, active, elapsed, busy]) => [
            phase,
            whole(ipu),
            whole(stage),
            whole(turns),
            whole(active),
            whole(elapsed),
            percent(busy, elapsed),
          ]),
        ),
      ),
    );
  }
  if (data.transfers.length) {
    host.append(
      card(
        `${of}Traffic beyond the chip`,
        plainTable(
          'transfers',
          [['what'], ['kind'], ['cycles per step', true], ['time', true], ['bytes', true], ['reason']],
          data.transfers.map(([name, kind, cycles, size, why]) => [
            name,
            kind,
            whole(cycles),
            span(cycles),
            bytes(size),
            el('details', {}, el('summary', { text: 'why' }), whyBlock(why)),
          ]),
        ),
      ),
    );
  }
}

export const pipelineView: View = {
  id: 'pipeline',
  title: 'Pipeline',
  lead: 'How micro-batches move through the stages, and the traffic between the IPUs and beyond.',
  key: 'g',
  async render(host, context) {
    await part(host, context, context.report.id, context.other ? 'Before' : '');
    if (context.other) await part(host, context, context.other.id, 'After');
  },
};
