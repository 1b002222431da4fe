import { Secret } from '@libs/contracts';
import { Cancellation } from '../model/cancellation';
import { anEndpoint, aProvider, FakeUpstream } from '../testing';
import { AnthropicBatches } from './anthropic-batch';
import { AnthropicProvider } from './anthropic.provider';
import { UpstreamHttp } from '../wire/upstream-http';

const TIMEOUTS = { totalMs: 5_000, headersMs: 5_000, idleMs: 5_000, connectMs: 5_000 };

describe(AnthropicBatches.name, () => {
  it.each([
    ['invalid_request_error', 'Your credit balance is too low to access the Anthropic API.', true],
    ['invalid_request_error', 'You have reached your specified API usage limits.', true],
    ['billing_error', 'Billing', true],
    ['overloaded_error', 'Overloaded', true],
    ['invalid_request_error', 'messages: at least one message is required', false],
  ])('says of a line that failed with %s, %s, whether it may work later: %s', async (type, message, isPassing) => {
    const upstream = await FakeUpstream.start();
    const http = new UpstreamHttp();
    const result = { type: 'errored', error: { type: 'error', error: { type, message } } };
    upstream.answers(200, `${JSON.stringify({ custom_id: 'one', result })}\n`);
    const provider = aProvider({ protocol: 'anthropic', baseUrl: `${upstream.origin}/v1` });
    const access = {
      endpoint: anEndpoint({ provider }),
      apiKey: new Secret('sk-test'),
      signal: new Cancellation(),
      timeouts: TIMEOUTS,
    };
    const lines = [];
    try {
      const batch = { id: 'batch', state: 'ended', reference: null, outputs: [], answers: 0, failure: null } as const;
      for await (const line of new AnthropicProvider(http).batch.download(batch, access)) lines.push(line);
    } finally {
      await http.close();
      await upstream.close();
    }
    expect(lines).toMatchObject([{ customId: 'one', kind: 'failed', error: { retryable: isPassing } }]);
  });
});
