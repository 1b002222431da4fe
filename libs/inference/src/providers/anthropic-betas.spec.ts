import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import { betaHeaderOf, lostBetas } from './anthropic-betas';

const THINKING = 'interleaved-thinking-2025-05-14';
const EFFORT = 'effort-2025-11-24';
const FAST = 'fast-mode-2026-02-01';
const MCP = 'mcp-client-2025-11-20';

describe(betaHeaderOf.name, () => {
  const at = (protocol: string, apis: readonly ('messages' | 'chat')[] = ['messages'], tier = 'standard') => ({
    endpoint: anEndpoint({ provider: aProvider({ protocol }), apis, capabilities: { service_tier: tier } }),
    isOwnKey: false,
  });

  it.each([
    ['anthropic', `${THINKING}, ${EFFORT},${THINKING}`, `${THINKING},${EFFORT}`],
    ['bedrock', `${THINKING},${EFFORT}`, THINKING],
    ['google-vertex', `${EFFORT},${THINKING}`, THINKING],
  ])('asks %s for those of %j that it takes, each once', (protocol, asked, told) => {
    expect(betaHeaderOf(asked, at(protocol))).toEqual({ 'anthropic-beta': told });
  });

  it.each([
    ['a beta with a bill of its own', 'context-1m-2025-08-07', at('anthropic')],
    ['an invented one', 'x\r\nx-api-key: y', at('anthropic')],
    ['nothing', '', at('anthropic')],
    ['one that a cloud does not know', EFFORT, at('bedrock')],
    ['one at an upstream of another kind', THINKING, at('openai')],
    ['one at an endpoint that is asked in another way', THINKING, at('bedrock', ['chat'])],
  ])('leaves out %s', (_what, asked, endpoint) => {
    expect(betaHeaderOf(asked, endpoint)).toBeUndefined();
  });

  it('leaves the betas of Anthropic to a caller who pays it with a key of its own', () => {
    const paid = { ...at('anthropic'), isOwnKey: true };
    expect(betaHeaderOf(`${MCP},${FAST}`, paid)).toEqual({ 'anthropic-beta': `${MCP},${FAST}` });
    expect(lostBetas(`${MCP},x\r\nx-api-key: y`, paid)).toEqual(['anthropic-beta']);
    const cloud = { ...at('bedrock'), isOwnKey: true };
    expect([betaHeaderOf(MCP, cloud), lostBetas(MCP, cloud)]).toEqual([undefined, [`anthropic-beta.${MCP}`]]);
  });

  it('passes the beta of fast answers to endpoints that have a price for them', () => {
    expect(betaHeaderOf(FAST, at('anthropic'))).toBeUndefined();
    expect(betaHeaderOf(FAST, at('anthropic', ['messages'], 'priority'))).toEqual({ 'anthropic-beta': FAST });
  });

  it('is sent with the calls of the request, and with no others', async () => {
    const upstream = await FakeUpstream.start();
    const provider = aProvider({ protocol: 'anthropic', baseUrl: upstream.baseUrl });
    const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis: ['messages'] })] })]);
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn' };
    upstream.answers(200, JSON.stringify({ ...message, usage: { input_tokens: 1, output_tokens: 1 } }));
    const request = {
      generationId: 'gen-1763715600-abcdefghijklmnopqrst',
      model: 'acme/large',
      body: Buffer.from('{"model":"acme/large","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}'),
      signal: new AbortController().signal,
    };
    try {
      await engine.answer('messages', { ...request, betas: THINKING });
      await engine.answer('chat', { ...request, betas: THINKING });
      await engine.answer('messages', request);
      const told = upstream.requests.map(({ headers }) => headers['anthropic-beta']);
      expect(told).toEqual([THINKING, THINKING, undefined]);
    } finally {
      await upstream.close();
      await http.close();
    }
  });
});
