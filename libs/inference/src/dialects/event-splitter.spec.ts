import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { EventSplitter, EventTooLarge } from './event-splitter';

function split(body: Buffer, cuts: readonly number[] = [], maxEventBytes = 1_000_000): string[] {
  return splitNamed(body, cuts, maxEventBytes).map(([data]) => data);
}

type NamedEvent = readonly [data: string, name: string | null];

function splitNamed(body: Buffer, cuts: readonly number[], maxEventBytes = 1_000_000): NamedEvent[] {
  const events: NamedEvent[] = [];
  const splitter = new EventSplitter(maxEventBytes, (data, name) => events.push([data.toString(), name]));
  const offsets = [0, ...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length];
  offsets.slice(1).forEach((end, i) => splitter.push(body.subarray(offsets[i], end)));
  splitter.end();
  return events;
}

function splitByParser(text: string): NamedEvent[] {
  const events: NamedEvent[] = [];
  const parser = createParser({ onEvent: ({ data, event }) => events.push([data, event ?? null]) });
  parser.feed(text);
  return events;
}

const anyLine = fc.oneof(
  fc.constantFrom('', '', 'data: {"a":"ü😀"}', 'data:x', 'data:  two', 'data', 'data:', ': comment', 'event: ping'),
  fc.constantFrom(
    'event:message_start',
    'event',
    'eventful: no',
    'id: 7',
    'retry: 10',
    'dataset: no',
    ' data: no',
    'data: [DONE]',
  ),
);
const anyStream = fc
  .array(fc.tuple(anyLine, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 30 })
  .map((lines) => lines.map(([line, end]) => line + end).join('') + 'data: last\n\n');

describe(EventSplitter.name, () => {
  it('finds the events that an independent parser finds, wherever the network cuts', () => {
    fc.assert(
      fc.property(anyStream, fc.array(fc.nat(), { maxLength: 20 }), (text, cuts) => {
        expect(splitNamed(Buffer.from(text), cuts)).toEqual(splitByParser(text));
      }),
      { numRuns: 500 },
    );
  });

  it('finds the same byte by byte', () => {
    const body = Buffer.from('\ufeffdata: é\r\ndata: 😀\r\n\r\n: x\r\rdata: b\n\n');
    expect(split(body, [...body.keys()])).toEqual(['é\n😀', 'b']);
  });

  it('takes an event without its closing empty line at the end of the body', () => {
    expect(split(Buffer.from('data: a\n\ndata: [DONE]'))).toEqual(['a', '[DONE]']);
  });

  it.each([
    ['a line without end', 'data: '.padEnd(200, 'x')],
    ['many lines of one event', 'data: xxxxxxxxx\n'.repeat(20)],
    ['many empty lines of one event', 'data\n'.repeat(200)],
  ])('refuses %s', (_what, text) => {
    expect(() => split(Buffer.from(text), [10, 20, 90], 100)).toThrow(EventTooLarge);
  });
});
