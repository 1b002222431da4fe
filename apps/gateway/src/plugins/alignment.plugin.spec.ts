import { AppError } from '@libs/errors';
import type { InferenceResult, StreamableApi } from '@libs/inference';
import { AlignmentPlugin } from './alignment.plugin';
import type { ModelQuestion } from './plugin';
import { answerOf, PluginBench } from './testing/plugin-bench';

const RULES = ['Name no competitor', 'Be polite'];
const settings = (more: object = {}) => ({ id: 'alignment', rules: RULES, ...more });

const requestOf = (api: StreamableApi, plugin: object, more: object = {}): object => ({
  model: 'test/text',
  ...(api === 'responses' ? { input: 'Hello?' } : { messages: [{ role: 'user', content: 'Hello?' }] }),
  plugins: [plugin],
  ...more,
});

const verdict = (probability: number, applicable = true): object => ({ applicable, probability });

describe(AlignmentPlugin.name, () => {
  let bench: PluginBench;
  let questions: ModelQuestion[];

  beforeAll(async () => {
    bench = await PluginBench.start();
  });
  afterAll(() => bench.stop());
  beforeEach(() => {
    bench.alignmentModel = 'test/judge';
    questions = [];
  });

  /**
   * Returns what comes of an answer that the model judges by writing `said`. `later`: what comes of asking again, in
   * turn, and how the model judges it.
   */
  async function judged(
    api: StreamableApi,
    plugin: object,
    said: string | AppError,
    text = 'Hi.',
    later: readonly (readonly [answer: string | AppError, said: string])[] = [],
  ) {
    const { run, stages } = await bench.prepare(api, requestOf(api, plugin));
    const answers = [...later];
    let judging = said;
    const ask = (question: ModelQuestion) => {
      questions.push(question);
      if (judging instanceof AppError) return Promise.reject(judging);
      return Promise.resolve({ ...answerOf('chat', judging), cost: { totalCost: 5_000_000n } } as InferenceResult);
    };
    const again = () => {
      const [answer, next] = answers.shift()!;
      if (answer instanceof AppError) return Promise.reject(answer);
      judging = next;
      return Promise.resolve(answerOf(api, answer));
    };
    const reviewed = await run.review<InferenceResult & { interruption?: AppError | null }>(answerOf(api, text), {
      ask,
      again: later.length === 0 ? null : again,
    });
    const body = JSON.parse((await run.finish(reviewed)).body.toString()) as Record<string, unknown>;
    return { body, interruption: reviewed.interruption ?? null, stages: stages(), spent: run.spentPicoUsd };
  }

  const wrote = (...rules: object[]): string => JSON.stringify({ rules });

  it.each(['chat', 'responses'] as const)('shows what was found about each rule on %s, and its cost', async (api) => {
    const { body, interruption, stages, spent } = await judged(
      api,
      settings(),
      wrote(verdict(0.1), verdict(0.9, false)),
    );
    expect(body['alignment']).toEqual({
      calls: [
        {
          call: 1,
          outcome: 'allowed',
          rules: [
            { applicable: true, broken: false, probability: 0.1 },
            { applicable: false, broken: false, probability: 0.9 },
          ],
        },
      ],
    });
    expect(interruption).toBeNull();
    expect(spent).toBe(5_000_000n);
    expect(body['usage']).toEqual({ cost: 0.001005 });
    expect(stages.at(-1)).toEqual({ type: 'guardrail', name: 'alignment', summary: 'outcome=allowed' });
  });

  it('shows the model that judges the rules, the question and the whole answer', async () => {
    await judged('chat', settings(), wrote(verdict(0), verdict(0)));
    const { content } = questions[0]!.messages[1] as { content: string };
    expect(questions[0]).toMatchObject({ model: 'test/judge' });
    expect(JSON.parse(content)).toEqual({ rules: RULES, question: 'Hello?', answer: expect.stringContaining('"Hi."') });
  });

  it.each([
    [{}, 0.7],
    [{ threshold: 0.2 }, 0.2],
  ])('refuses an answer that breaks a rule with %j at a probability of %d', async (more, probability) => {
    const { interruption } = await judged('chat', settings(more), wrote(verdict(0), verdict(probability)));
    expect(interruption).toMatchObject({ code: 'permission_denied' });
    expect(interruption!.metadata).toMatchObject({
      alignment: {
        calls: [{ call: 1, outcome: 'blocked', rules: [{ broken: false }, { broken: true }] }],
        rejected: [1],
      },
    });
  });

  it.each([
    ['no JSON', 'I will not.'],
    ['too few rules', wrote(verdict(0))],
    ['a probability above 1', wrote(verdict(0), verdict(2))],
    ['a rule without a verdict', wrote(verdict(0), {})],
    ['an error', new AppError('provider_unavailable', 'No provider answered')],
  ])('lets no answer through when the model that judges gives %s', async (_what, said) => {
    const { interruption } = await judged('chat', settings(), said);
    expect(interruption).toMatchObject({ code: 'unavailable' });
    const { alignment } = interruption!.metadata as { alignment: object };
    expect(alignment).toEqual({
      calls: [{ call: 1, outcome: 'unavailable', rules: [], reason: expect.any(String) }],
      rejected: [],
    });
  });

  const [bad, good] = [wrote(verdict(0), verdict(0.9)), wrote(verdict(0), verdict(0.1))];

  it('asks again in place of a blocked answer, and shows and charges all of them', async () => {
    const { body, interruption, stages, spent } = await judged('chat', settings(), bad, 'Hm.', [['Hello!', good]]);
    expect(interruption).toBeNull();
    expect(body['choices']).toMatchObject([{ message: { content: 'Hello!' } }]);
    expect(body['alignment']).toMatchObject({
      calls: [
        { call: 1, outcome: 'blocked' },
        { call: 2, outcome: 'allowed' },
      ],
    });
    expect(stages.slice(-2)).toMatchObject([{ summary: 'outcome=blocked' }, { summary: 'outcome=allowed' }]);
    // Two judgements and the first answer; the second is charged as the answer.
    expect(spent).toBe(2n * 5_000_000n + answerOf('chat', 'Hm.').cost.totalCost);
  });

  it('refuses the last answer when each of them is blocked, and names all', async () => {
    const two = settings({ max_retries: 2 });
    const { interruption } = await judged('chat', two, bad, 'Hm.', [
      ['Tz.', bad],
      ['Pf.', bad],
    ]);
    expect(interruption).toMatchObject({ code: 'permission_denied' });
    expect(interruption!.metadata).toMatchObject({ alignment: { calls: [{}, {}, { call: 3 }], rejected: [1, 2, 3] } });
    expect(questions).toHaveLength(3);
  });

  it.each([
    ['the setting says so', { max_retries: 0 }, [['Hello!', good]]],
    ['no provider answers again', {}, [[new AppError('provider_unavailable', 'Gone'), good]]],
  ] as const)('lets the refusal stand when %s', async (_when, more, later) => {
    const { interruption, spent } = await judged('chat', settings(more), bad, 'Hm.', later);
    expect(interruption).toMatchObject({ code: 'permission_denied', metadata: { alignment: { rejected: [1] } } });
    expect(spent).toBe(5_000_000n);
  });

  it('judges no answer in part', async () => {
    const { interruption } = await judged('chat', settings(), wrote(verdict(0), verdict(0)), 'a'.repeat(300_000));
    expect(interruption).toMatchObject({ code: 'unavailable' });
    expect(questions).toEqual([]);
  });

  it('refuses a question that is too long to be judged before a model is asked, unless it is an audit', async () => {
    const messages = [{ role: 'user', content: 'a'.repeat(300_000) }];
    const prepared = (more: object) => bench.prepare('chat', requestOf('chat', settings(more), { messages }));
    await expect(prepared({})).rejects.toThrow('plugins[0].id judges questions of at most 262144 characters');
    await expect(prepared({ mode: 'audit' })).resolves.toMatchObject({});
  });

  it('reads verdicts with words around them', async () => {
    const { interruption } = await judged('chat', settings(), `Here:\n${wrote(verdict(0), verdict(0))}\nDone.`);
    expect(interruption).toBeNull();
  });

  it.each([
    ['blocked', wrote(verdict(1), verdict(0))],
    ['unavailable', new AppError('provider_unavailable', 'No provider answered')],
  ])('only reports the outcome %s in an audit', async (outcome, said) => {
    const { body, interruption } = await judged('chat', settings({ mode: 'audit' }), said);
    expect(interruption).toBeNull();
    expect(body['alignment']).toMatchObject({ calls: [{ outcome }] });
  });

  it.each([
    ['chat', 'messages'],
    ['responses', 'input'],
  ] as const)('gives the model the rules on %s, unless it is not to be instructed', async (api, member) => {
    const { body } = await bench.prepare(api, requestOf(api, settings()));
    const [first] = body[member] as { role: string; content: string }[];
    expect(first).toEqual({ role: 'system', content: expect.stringContaining('- Be polite') });
    const { bytes } = await bench.prepare(api, requestOf(api, settings({ instruct: false })));
    expect(JSON.parse(bytes)).toEqual(requestOf(api, settings({ instruct: false })));
  });

  it.each([
    [{ rules: undefined }, 'plugins[0].rules must be an array of 1 to 128 rules'],
    [{ rules: [] }, 'plugins[0].rules must be an array'],
    [{ rules: Array(129).fill('a') }, 'plugins[0].rules must be an array'],
    [{ rules: ['a', ''] }, 'plugins[0].rules[1] must be a text of 1 to 200 characters'],
    [{ rules: ['a'.repeat(201)] }, 'plugins[0].rules[0] must be a text'],
    [{ threshold: 0 }, 'plugins[0].threshold must be a number above 0'],
    [{ threshold: 1.1 }, 'plugins[0].threshold must be a number above 0, at most 1 (it is 1.1)'],
    [{ mode: 'watch' }, 'plugins[0].mode must be one of enforce, audit'],
    [{ instruct: 'yes' }, 'plugins[0].instruct must be true or false (it is "yes")'],
    [{ max_retries: 4 }, 'plugins[0].max_retries must be a whole number from 0 to 3'],
    [{ max_retries: -1 }, 'plugins[0].max_retries must be a whole number from 0 to 3'],
  ])('refuses the settings %j', (more, message) => {
    expect(() => bench.runFor('chat', requestOf('chat', settings(more)))).toThrow(message);
  });

  it('is refused for streams, for messages, and where no model is configured', () => {
    const streamed = requestOf('chat', settings(), { stream: true });
    expect(() => bench.runFor('chat', streamed)).toThrow('plugins[0].id judges whole answers: ask without stream');
    const message = requestOf('messages', settings(), { max_tokens: 5 });
    expect(() => bench.runFor('messages', message)).toThrow('plugins[0].id is for chat completions and responses only');
    bench.alignmentModel = null;
    expect(() => bench.runFor('chat', requestOf('chat', settings()))).toThrow('no model is configured here');
  });
});
