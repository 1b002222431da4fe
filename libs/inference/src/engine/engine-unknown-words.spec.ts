import type { JsonObject } from '@libs/json';
import type { StreamableApi } from '../dialects/dialect-pairs';
import { askEndpoint, FakeUpstream, lastSent } from '../testing';

const SAID = { messages: [{ role: 'user', content: 'Hello!' }] };
const INPUT = { input: 'Hello!' };

let upstream: FakeUpstream;
beforeEach(async () => void (upstream = await FakeUpstream.start()));
afterEach(() => upstream.close());

interface Case {
  readonly api: StreamableApi;
  readonly members: JsonObject;
  /** What a translation leaves out. */
  readonly path: string;
}

/** Values that a provider may add to its lists before we know them. */
const TUNING: readonly Case[] = [
  { api: 'messages', path: 'thinking.display', members: { thinking: { type: 'adaptive', display: 'updates' } } },
  { api: 'messages', path: 'output_config.effort', members: { output_config: { effort: 'ultra' } } },
  { api: 'chat', path: 'reasoning_effort', members: { reasoning_effort: 'ultra' } },
  { api: 'chat', path: 'verbosity', members: { verbosity: 'loud' } },
  { api: 'responses', path: 'reasoning.effort', members: { reasoning: { effort: 'ultra' } } },
  { api: 'responses', path: 'reasoning.summary', members: { reasoning: { summary: 'long' } } },
  { api: 'responses', path: 'reasoning.context', members: { reasoning: { context: 'last_turn' } } },
  { api: 'responses', path: 'text.verbosity', members: { text: { verbosity: 'loud' } } },
];

const saidTo = (api: StreamableApi): object => (api === 'responses' ? INPUT : SAID);

describe('a value of a list that is newer than we are', () => {
  it.each(TUNING)('goes on to an endpoint that speaks $api: $path', async ({ api, members }) => {
    await askEndpoint(upstream, { api, spoken: api, members: { ...saidTo(api), ...members } });
    expect(lastSent(upstream)).toMatchObject(members);
  });

  it.each(TUNING)('of $api is left out of a translation and reported: $path', async ({ api, members, path }) => {
    const spoken = api === 'messages' ? 'chat' : 'messages';
    const { losses } = await askEndpoint(upstream, { api, spoken, members: { ...saidTo(api), ...members } });
    expect(losses.dropped).toContain(path);
    expect(upstream.requests.at(-1)!.body).not.toMatch(/updates|ultra|loud|long|last_turn/);
  });

  it('goes on as the effort of a chat that is written as OpenAI has it', async () => {
    const members = { ...SAID, reasoning: { effort: 'ultra' } };
    await askEndpoint(upstream, { api: 'chat', spoken: 'chat', members });
    expect(lastSent(upstream)).toMatchObject({ reasoning_effort: 'ultra' });
    expect(lastSent(upstream)).not.toHaveProperty('reasoning');
  });

  it.each<Case>([
    { api: 'messages', path: 'thinking.type', members: { thinking: { type: 'deep' } } },
    { api: 'messages', path: 'tool_choice.type', members: { tool_choice: { type: 'best' } } },
    { api: 'messages', path: 'output_config.format.type', members: { output_config: { format: { type: 'xml' } } } },
  ])('of $api goes on, and is refused where a translation would change what is asked: $path', async (one) => {
    const asked = { api: one.api, members: { ...SAID, ...one.members } };
    await askEndpoint(upstream, { ...asked, spoken: 'messages' });
    expect(lastSent(upstream)).toMatchObject(one.members);
    await expect(askEndpoint(upstream, { ...asked, spoken: 'chat' })).rejects.toMatchObject({
      code: 'invalid_request',
      metadata: { param: one.path },
    });
  });
});
