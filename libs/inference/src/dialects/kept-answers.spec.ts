import { aModel, anAnswerContext, anEndpoint } from '../testing';
import { isOversized } from '../wire/oversized-answer';
import type { UpstreamStream } from '../wire/upstream-stream';
import { TRANSLATIONS } from './dialect-pairs';
import { TranslatedStream } from './translated-stream';

const MIB = 1024 * 1024;
const MOST_MIB = 100;
/** Of a stream that keeps nothing, however much of it there is. */
const MIB_OF_NO_KEEPING = process.env.SLUICE_CHAOS === 'full' ? MOST_MIB : 20;

const endpoint = anEndpoint();
const context = anAnswerContext({ model: aModel({ endpoints: [endpoint] }), endpoint });

const chunkOf = (delta: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ id: 'c', created: 1, choices: [{ index: 0, delta }] })}\n\n`);

/** The same text of a MiB again and again. */
function babbling(mostMib = MOST_MIB): {
  readonly upstream: UpstreamStream;
  readonly state: { mebibytes: number; mostKept: number };
} {
  const chunk = chunkOf({ content: 'x'.repeat(MIB) });
  const state = { mebibytes: 0, mostKept: 0 };
  let isCancelled = false;
  const upstream: UpstreamStream = {
    read: async (keptBytes = 0) => {
      state.mostKept = Math.max(state.mostKept, keptBytes);
      if (isCancelled || state.mebibytes === mostMib) return null;
      state.mebibytes += 1;
      return chunk;
    },
    leave: () => 0,
    cancel: () => (isCancelled = true),
    discard: () => undefined,
  };
  return { upstream, state };
}

describe('a translated stream without end', () => {
  const open = (upstream: UpstreamStream, api: 'chat' | 'responses') =>
    TranslatedStream.open(upstream, context, {
      reader: TRANSLATIONS.get('chat')!.upstream.readStream(endpoint),
      writer: TRANSLATIONS.get(api)!.caller.writeStream(context),
    });

  it('fails where its last event has to repeat it, and what it keeps counts', async () => {
    const { upstream, state } = babbling();
    const stream = await open(upstream, 'responses');
    for await (const _pieces of stream) continue;
    const outcome = await stream.outcome;
    expect(outcome.state).toBe('failed');
    expect(isOversized(outcome.error!)).toBe(true);
    expect(state.mebibytes).toBeLessThan(70);
    expect(state.mostKept).toBeGreaterThan(60 * MIB);
  });

  it('keeps nothing where its last event does not', async () => {
    const { upstream, state } = babbling(MIB_OF_NO_KEEPING);
    const stream = await open(upstream, 'chat');
    for await (const _pieces of stream) continue;
    expect(state).toEqual({ mebibytes: MIB_OF_NO_KEEPING, mostKept: 0 });
  });
});
