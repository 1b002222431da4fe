import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { anEndpoint } from '../testing';
import {
  BROKEN_RECORDINGS,
  PROVIDER_RECORDINGS,
  SHORT_RECORDINGS,
  type RecordedStream,
} from '../testing/recorded-streams';
import { ASKERS, relay, type Asker, type Relayed } from '../testing/relayed-recordings';
import { inManyLines } from '../testing/spread-events';
import { wordsOfStream } from './answer-words';

const cut = (body: Buffer, offsets: readonly number[]): Buffer[] => {
  const ends = [0, ...offsets.toSorted((a, b) => a - b), body.length];
  return ends.slice(1).map((end, i) => body.subarray(ends[i], end));
};

const offsetsOf = ({ body }: RecordedStream): number[] => Array.from({ length: body.length + 1 }, (_, at) => at);

/** In the short form each asker tries its share of the places, so that all together try each. */
const SHARES = process.env.SLUICE_CHAOS === 'full' ? 1 : ASKERS.length;

const placesFor = (asker: Asker, source: RecordedStream): number[] =>
  offsetsOf(source).filter((at) => at % SHARES === ASKERS.indexOf(asker) % SHARES);

const isSame = (a: Relayed, b: Relayed): boolean => a.text === b.text && a.outcome === b.outcome;

/** The offsets at which a cut changes what comes of a stream. */
async function harmfulCuts(asker: Asker, source: RecordedStream, expected: readonly Relayed[]): Promise<number[]> {
  const harmful: number[] = [];
  for (const at of placesFor(asker, source)) {
    const relayed = await relay(asker, source, cut(source.body, [at]));
    if (!expected.some((one) => isSame(one, relayed))) harmful.push(at);
  }
  return harmful;
}

/** What a client reads: the event's name and its JSON. */
function eventsOf(text: string): unknown[] {
  const events: unknown[] = [];
  const parser = createParser({
    onEvent: ({ data, event }) => events.push([event, data.startsWith('{') ? JSON.parse(data) : data]),
  });
  parser.feed(text);
  return events;
}

const LINE_ENDS = [['\n'], ['\r\n'], ['\r'], ['\n', '\r\n', '\r', '\r\n']];

/** One event as we write it: a name at most, and one line of data. */
const WRITTEN = /^(?:event: [a-z_]+\n)?data: [^\r\n]+$/;

/** Whether all that a model said is there; counts may be missing. */
function saysAllOf(asker: Asker, text: string, whole: string): boolean {
  if (asker === 'turn') return withoutUsage(text) === withoutUsage(whole);
  const endpoint = anEndpoint();
  const said = wordsOfStream(asker, Buffer.from(text), endpoint);
  return JSON.stringify(said) === JSON.stringify(wordsOfStream(asker, Buffer.from(whole), endpoint));
}

const withoutUsage = (text: string): string => text.replaceAll(/^\{"type":"usage".*\n/gm, '');

const byName = (sources: readonly RecordedStream[]) => sources.map((source) => [source.name, source] as const);

describe.each(ASKERS)('a caller of %s', (asker) => {
  beforeEach(() => void jest.spyOn(Date, 'now').mockReturnValue(1_790_000_000_000));
  afterEach(() => jest.restoreAllMocks());

  it.each(byName(SHORT_RECORDINGS))('loses nothing of %s, wherever the network cuts it', async (_name, source) => {
    const whole = await relay(asker, source, [source.body]);
    expect(whole.outcome).toContain('"state":"completed"');
    expect(await harmfulCuts(asker, source, [whole])).toEqual([]);
  });

  it.each(byName([...SHORT_RECORDINGS, ...PROVIDER_RECORDINGS]))(
    'loses nothing of %s, in however many pieces it comes',
    async (_name, source) => {
      const whole = await relay(asker, source, [source.body]);
      expect(await relay(asker, source, cut(source.body, offsetsOf(source)))).toEqual(whole);
      const cuts = fc.array(fc.nat(source.body.length), { maxLength: 40 });
      const check = fc.asyncProperty(cuts, async (at) =>
        expect(await relay(asker, source, cut(source.body, at))).toEqual(whole),
      );
      await fc.assert(check, { numRuns: 25 });
    },
  );

  it.each(byName(BROKEN_RECORDINGS))(
    'reads all of %s, or an error before anything of it, wherever the network cuts it',
    async (_name, source) => {
      const whole = await relay(asker, source, [source.body]);
      const bytewise = await relay(asker, source, cut(source.body, offsetsOf(source)));
      expect(bytewise.outcome).toContain('"state":"failed"');
      expect(await harmfulCuts(asker, source, [whole, bytewise])).toEqual([]);
    },
  );

  it.each(byName([...SHORT_RECORDINGS, ...PROVIDER_RECORDINGS]))(
    'gets each event of %s in one line, also where it came in several',
    async (_name, source) => {
      const plain = await relay(asker, source, [source.body]);
      for (const lineEnds of LINE_ENDS) {
        const spread = inManyLines(source, lineEnds);
        const { text, outcome } = await relay(asker, spread, [spread.body]);
        expect(outcome).toBe(plain.outcome);
        if (asker === 'turn') expect(text).toBe(plain.text);
        else expect(eventsOf(text!)).toEqual(eventsOf(plain.text!));
        if (asker !== 'turn') for (const event of text!.split('\n\n').slice(0, -1)) expect(event).toMatch(WRITTEN);
        expect(await relay(asker, spread, cut(spread.body, offsetsOf(spread)))).toEqual({ text, outcome });
      }
    },
  );

  it.each(byName(SHORT_RECORDINGS))(
    'gets all that %s says, or an error, if the body ends early',
    async (_name, source) => {
      const whole = await relay(asker, source, [source.body]);
      const silent: number[] = [];
      for (const at of placesFor(asker, source)) {
        const { text, outcome } = await relay(asker, source, [source.body.subarray(0, at)]);
        const hasFailed = text === null || outcome.includes('"state":"failed"');
        if (!hasFailed && !saysAllOf(asker, text, whole.text!)) silent.push(at);
      }
      expect(silent).toEqual([]);
    },
  );
});
