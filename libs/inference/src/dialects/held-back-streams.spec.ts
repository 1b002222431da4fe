import { APIS } from '../apis/apis';
import { aModel, anAnswerContext, anEndpoint, textOf } from '../testing';
import { heldBackTooLong } from '../wire/upstream-error';
import type { UpstreamStream } from '../wire/upstream-stream';
import { dialectOf } from '.';
import type { StreamableApi } from './dialect-pairs';

const endpoint = anEndpoint({ supportedParameters: ['reasoning', 'max_tokens'] });
const MOST_TOKENS = 5_000;

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const delta = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'words' };
const WORDS: Readonly<Record<StreamableApi, string>> = {
  chat: event({ id: 'c', created: 1, choices: [{ index: 0, delta: { content: 'words' } }] }),
  responses: event({ type: 'response.created', response: { id: 'r', output: [] } }) + event(delta),
  messages:
    event({ type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 4, output_tokens: 1 } } }) +
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'words' } }),
};

/** Some words, and then no more, because the reader was too slow for the rest. */
function heldBack(words: string): UpstreamStream {
  const left = [Buffer.from(words)];
  return {
    read: async () => {
      const next = left.shift();
      if (next === undefined) throw heldBackTooLong(endpoint.provider);
      return next;
    },
    leave: () => 0,
    cancel: () => undefined,
    discard: () => undefined,
  };
}

describe('a stream whose reader is too slow for the time of the call', () => {
  it.each<StreamableApi>(['chat', 'responses', 'messages'])(
    'costs what the model may have thought: %s',
    async (api) => {
      const cap = api === 'responses' ? 'max_output_tokens' : 'max_tokens';
      const thoughts = api === 'messages' ? { thinking: { type: 'enabled', budget_tokens: 4_000 } } : {};
      const request = { model: 'm', messages: [], input: 'hi', stream: true, [cap]: MOST_TOKENS, ...thoughts };
      const context = anAnswerContext({
        model: aModel({ endpoints: [endpoint] }),
        endpoint,
        requestBody: Buffer.from(JSON.stringify(request)),
        expected: () => APIS[api].outputOf(request),
      });
      const stream = await dialectOf(api).openStream!(heldBack(WORDS[api]), context);
      await textOf(stream);
      const { state, usage } = await stream.outcome;
      expect(state).toBe('failed');
      expect(usage.completionTokens).toBeGreaterThan(4_000);
      expect(usage.completionTokens).toBeLessThanOrEqual(MOST_TOKENS);
    },
  );
});
