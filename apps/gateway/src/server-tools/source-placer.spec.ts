import type { AnswerEvent } from '@libs/inference';
import { SourcePlacer } from './source-placer';

const source = (url: string) => ({ type: 'url-citation' as const, url, title: 'A page' });
const A = source('https://a.example/x');
const B = source('https://b.example');

const text = (part: number, ...pieces: string[]): AnswerEvent[] => [
  { type: 'part-start', part, kind: 'text' },
  ...pieces.map((piece): AnswerEvent => ({ type: 'text-delta', part, text: piece })),
  { type: 'part-end', part },
];

function place(placer: SourcePlacer, events: readonly AnswerEvent[], isLast: boolean) {
  const passed = [...events.flatMap((event) => placer.pass(event)), ...placer.endTurn(isLast)];
  const spans = passed.flatMap((event) =>
    event.type === 'annotation'
      ? [[event.part, event.annotation.url, event.annotation.startIndex, event.annotation.endIndex]]
      : [],
  );
  return { passed, spans };
}

describe(SourcePlacer.name, () => {
  it('passes everything where there are no sources', () => {
    const events = text(0, 'Hi');
    expect(place(new SourcePlacer(), events, true).passed).toEqual(events);
  });

  it('cites a source where its address stands, across pieces, and the whole link where it is one', () => {
    const placer = new SourcePlacer();
    placer.add([A, B]);
    const { spans, passed } = place(placer, text(3, 'See https://b.exa', 'mple and [a](https://a.example/x).'), true);
    expect(spans).toEqual([
      [3, A.url, 26, 50],
      [3, B.url, 4, 21],
    ]);
    expect(passed.at(-1)).toEqual({ type: 'part-end', part: 3 });
  });

  it('cites what no text names for the whole of the last text', () => {
    const placer = new SourcePlacer();
    placer.add([A]);
    expect(place(placer, text(0, 'One moment.'), false).spans).toEqual([]);
    placer.add([A, B]);
    expect(place(placer, text(1, 'Done.'), true).spans).toEqual([
      [1, A.url, 0, 5],
      [1, B.url, 0, 5],
    ]);
  });

  it('cites a source once', () => {
    const placer = new SourcePlacer();
    placer.add([B]);
    expect(place(placer, [...text(0, B.url), ...text(1, B.url)], true).spans).toHaveLength(1);
  });
});
