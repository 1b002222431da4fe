import { parseRate } from '../pricing/money';
import { LossLog } from '../model/loss-report';
import { anEndpoint } from '../testing';
import { inAccount } from './asked-account';
import { bedrockConverse } from './bedrock-converse';
import { TRANSLATIONS } from './dialect-pairs';
import { dialectOf } from './index';

const prompt = parseRate('0.000003');
const completion = parseRate('0.000015');
const inputCacheWrite = parseRate('0.00000375');
const LISTED = { prompt, completion, inputCacheWrite, inputCacheWrite1h: parseRate('0.000006') };
const UNLISTED = { prompt, completion, inputCacheWrite };
const WITHOUT_WRITES = { prompt, completion };

const SHARED = { isOwn: false, keepsNothing: false };
const OWN = { ...SHARED, isOwn: true };

const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const text = { type: 'text', text: 'x', ...hour };
const BODIES = {
  messages: {
    ...hour,
    system: [text],
    tools: [{ name: 'f', input_schema: { properties: { ttl: { const: '1h' } } }, ...hour }],
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [text, { type: 'tool_result', tool_use_id: 't', content: [text], ...hour }] },
    ],
  },
  chat: {
    ...hour,
    tools: [{ type: 'function', function: { name: 'f' }, ...hour }],
    messages: [
      { role: 'user', content: [text] },
      { role: 'tool', tool_call_id: 't', content: 'y', ...hour },
    ],
  },
  responses: { ...hour, input: [{ role: 'user', content: [{ ...text, type: 'input_text' }] }] },
} as const;
const APIS = ['messages', 'chat', 'responses'] as const;
const TAKES_MARKS = { chat: { cache_control: true }, responses: { cache_control: true } };
const at = (pricing: typeof LISTED | typeof UNLISTED | typeof WITHOUT_WRITES) =>
  anEndpoint({ pricing, apis: APIS, capabilities: TAKES_MARKS });

function passed(api: (typeof APIS)[number], pricing: Parameters<typeof at>[0], account = SHARED) {
  const log = new LossLog();
  const body = Buffer.from(
    JSON.stringify({ model: 'm', ...(api === 'messages' && { max_tokens: 8 }), ...BODIES[api] }),
  );
  const sent = dialectOf(api).toUpstream(body, at(pricing), false, log, account).toString();
  return { sent, losses: log.report() };
}

function toBedrock(api: (typeof APIS)[number], pricing: Parameters<typeof at>[0], account = SHARED): string {
  const endpoint = anEndpoint({ pricing, upstreamModel: 'global.anthropic.claude-sonnet-4-6', apis: ['chat'] });
  const request = TRANSLATIONS.get(api)!.caller.readRequest(BODIES[api]);
  const asked = inAccount(request, endpoint, account, new LossLog());
  return JSON.stringify(bedrockConverse.writeRequest(asked, endpoint, false, new LossLog()));
}

const marks = (sent: string): number => sent.split('"cache_control"').length - 1;
const hours = (sent: string): number => sent.split('"ttl":"1h"').length - 1;

describe.each(APIS)('a mark for an hour in the prompt cache, in %s', (api) => {
  it('loses its time where the catalogue has a price for cache writes and none for those of an hour', () => {
    const { sent, losses } = passed(api, UNLISTED);
    expect(hours(sent)).toBe(0);
    expect(marks(sent)).toBe(marks(JSON.stringify(BODIES[api])));
    expect(losses).toEqual({ dropped: [], approximated: ['cache_control.ttl'] });
    expect(JSON.parse(sent)).toMatchObject({ cache_control: { type: 'ephemeral' } });
  });

  it('is sent as it is where its price is known, or where nothing is charged for writes', () => {
    for (const pricing of [LISTED, WITHOUT_WRITES]) {
      const { sent, losses } = passed(api, pricing);
      expect(hours(sent)).toBe(hours(JSON.stringify(BODIES[api])));
      expect(losses.approximated).toEqual([]);
    }
  });

  it('is sent as it is with a key of the caller', () => {
    const { sent, losses } = passed(api, UNLISTED, OWN);
    expect(hours(sent)).toBe(hours(JSON.stringify(BODIES[api])));
    expect(losses.approximated).toEqual([]);
  });

  it('is sent in translations by the same rule', () => {
    expect(hours(toBedrock(api, LISTED))).toBeGreaterThan(0);
    expect(hours(toBedrock(api, UNLISTED))).toBe(0);
    expect(toBedrock(api, UNLISTED)).toContain('"cachePoint":{"type":"default"}');
    expect(hours(toBedrock(api, UNLISTED, OWN))).toBeGreaterThan(0);
  });
});

describe('a mark for five minutes in the prompt cache', () => {
  it('passes as it is', () => {
    const body = JSON.stringify({ ...BODIES.messages, model: 'm', max_tokens: 8 }).replaceAll('1h', '5m');
    const log = new LossLog();
    const sent = dialectOf('messages').toUpstream(Buffer.from(body), at(UNLISTED), false, log).toString();
    expect(sent.split('"ttl":"5m"').length).toBe(body.split('"ttl":"5m"').length);
    expect(log.report().approximated).toEqual([]);
  });
});

describe('a mark in an unusual spelling', () => {
  it('loses its time too', () => {
    const body =
      '{"model":"m","max_tokens":8,"messages":[],"cache\\u005fcontrol":{"type":"ephemeral","\\u0074tl":"1h"}}';
    const sent = dialectOf('messages').toUpstream(Buffer.from(body), at(UNLISTED), false).toString();
    expect(sent).not.toContain('1h');
    expect(sent).toContain('ephemeral');
  });
});
