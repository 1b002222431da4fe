import { askEndpoint, FakeUpstream, type Asked } from '../testing';

const members = { messages: [{ role: 'user', content: 'Hello!' }] };
const betas = 'claude-code-20250219, effort-2025-11-24,claude-code-20250219,';

let upstream: FakeUpstream;
beforeEach(async () => void (upstream = await FakeUpstream.start()));
afterEach(() => upstream.close());

const ask = (asked: Partial<Asked>): ReturnType<typeof askEndpoint> =>
  askEndpoint(upstream, { api: 'messages', spoken: 'messages', members, betas, ...asked });

describe('betas that a caller asks for', () => {
  it('are sent where their price is known, and the others are named once each', async () => {
    const { losses } = await ask({});
    expect(upstream.requests[0]!.headers['anthropic-beta']).toBe('effort-2025-11-24');
    expect(losses.dropped).toEqual(['anthropic-beta.claude-code-20250219']);
  });

  it('are all named where the endpoint speaks another API', async () => {
    const { losses } = await ask({ spoken: 'chat' });
    expect(upstream.requests[0]!.headers['anthropic-beta']).toBeUndefined();
    expect(losses.dropped).toEqual(['anthropic-beta.claude-code-20250219', 'anthropic-beta.effort-2025-11-24']);
  });

  it('are not shown again where they are no names', async () => {
    const { losses } = await ask({ betas: 'sk-ant-API03/secret, <b>' });
    expect(losses.dropped).toEqual(['anthropic-beta']);
  });

  it('rule out no endpoint for a request that wants every parameter supported', async () => {
    const preferences = { requireParameters: true };
    expect(await ask({ members: { ...members, provider: { require_parameters: true } }, preferences })).toMatchObject({
      losses: { dropped: ['anthropic-beta.claude-code-20250219'] },
    });
  });
});
