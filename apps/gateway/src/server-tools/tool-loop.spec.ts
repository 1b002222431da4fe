import { AppError } from '@libs/errors';
import type { Principal } from '@libs/contracts';
import {
  AnswerFold,
  type AnswerPart,
  type OwnCredential,
  type RoutedRequest,
  type StreamableApi,
} from '@libs/inference';
import { outsideWork } from '../parsers/testing/outside-work';
import type { OutsideWork } from '../parsers/outside-work';
import type { ServerTool } from './server-tool';
import { ServerToolPlanner } from './server-tool-plan';
import { ToolLoop } from './tool-loop';
import { FakeFund } from './testing/fake-fund';
import { FakeTool, found } from './testing/fake-tool';
import { ScriptedEngine, TURN_COST, TURN_USAGE, type ScriptedTurn } from './testing/scripted-engine';

const CALLER = { organizationId: 'acme', workspaceId: 'w', keyHash: 'k' } as Principal;

interface Play {
  readonly tools?: readonly ServerTool[];
  readonly body?: object;
  readonly api?: StreamableApi;
  readonly signal?: AbortSignal;
  readonly fund?: FakeFund;
  readonly estimatedPromptTokens?: number;
  readonly isStream?: boolean;
  readonly memory?: OutsideWork['memory'];
  readonly rules?: Pick<RoutedRequest, 'preferences'>;
}

function begin(
  script: readonly (ScriptedTurn | AppError)[],
  { tools = [], body = {}, api = 'responses', signal, fund = new FakeFund(), ...how }: Play,
) {
  const { estimatedPromptTokens = 0, isStream = true, memory = outsideWork().memory, rules } = how;
  const engine = new ScriptedEngine(script);
  const planner = new ServerToolPlanner({
    serviceName: 'sluice',
    tools,
    nativeShare: () => 'none',
    isNative: () => false,
  });
  const named = tools.map(({ name }) => ({ type: `sluice:${name}` }));
  const asked = api === 'responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
  const plan = planner.plan(api, { ...asked, tools: named, ...body }, ['test/scripted'])!;
  const routed: RoutedRequest = {
    generationId: 'gen-1-abc',
    body: Buffer.from('{}'),
    model: 'test/scripted',
    signal: signal ?? new AbortController().signal,
    estimatedPromptTokens,
    ...rules,
  };
  return { engine, loop: new ToolLoop(engine, { api, routed, plan, caller: CALLER, memory, fund, isStream }) };
}

async function play(script: readonly (ScriptedTurn | AppError)[], how: Play = {}) {
  const { engine, loop } = begin(script, how);
  await loop.open();
  const fold = new AnswerFold();
  const kinds: string[] = [];
  for await (const event of loop.events()) {
    fold.add(event);
    kinds.push(event.type);
  }
  await loop.settled();
  return { engine, loop, parts: fold.parts, kinds };
}

const call = (name: string, id = `call_${name}`, args = '{}') => ({ id, name, arguments: args });
const FUNCTION = { type: 'function', name: 'theirs', parameters: {} };

describe(ToolLoop.name, () => {
  it('reads the links of the caller once, however many turns there are', async () => {
    const tool = new FakeTool('look');
    const turns = ['a', 'b'].map((id) => ({ calls: [call('look', id)] }));
    const body = { input: 'Read https://docs.example/a.' };
    await play([...turns, { text: 'Done.' }], { tools: [tool], body, rules: { preferences: { zdr: true } } });
    const [first, second] = tool.uses.map(({ context }) => context.callerLinks);
    expect([...first!]).toEqual(['https://docs.example/a']);
    expect(second).toBe(first);
  });

  it('shows the model what its tools found until it calls none', async () => {
    const tool = new FakeTool('look', ({ args }) => found(`Saw ${JSON.stringify(args)}.`));
    const { engine, parts, loop } = await play(
      [
        { text: 'Let me see.', calls: [call('look', 'a', '{"at":"x"}')] },
        { calls: [call('look', 'b', '{"at":"y"}')] },
        { text: 'It is y.' },
      ],
      { tools: [tool] },
    );
    expect(parts).toMatchObject([
      { type: 'text', text: 'Let me see.' },
      { type: 'server-tool', itemType: 'sluice:look', hasSucceeded: true, item: { said: 'Saw {"at":"x"}.' } },
      { type: 'server-tool', item: { said: 'Saw {"at":"y"}.' } },
      { type: 'text', text: 'It is y.' },
    ]);
    expect(engine.requests.at(-1)!.conversation.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', parts: [{ text: 'Let me see.' }, { type: 'tool-call', id: 'a', name: 'look' }] },
      { role: 'tool', parts: [{ callId: 'a', parts: [{ text: 'Saw {"at":"x"}.' }] }] },
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'b' }] },
      { role: 'tool', parts: [{ callId: 'b' }] },
    ]);
    expect(loop.end).toMatchObject({ state: 'completed', finishReason: 'stop', error: null });
  });

  it('records each turn where it was charged, if they ran on different keys', async () => {
    const look = { calls: [call('look')] };
    const own = { id: 'cred-1' } as OwnCredential;
    const turnsOf = async (...credentials: readonly (OwnCredential | null)[]) => {
      const script = credentials.map((credential, index) => ({ ...(index < 2 && look), text: 'Go on.', credential }));
      const { loop } = await play(script, { tools: [new FakeTool('look')] });
      return loop.bill.turns;
    };
    const shared = {
      provider: 'scripted',
      model: 'scripted',
      promptTokens: 10,
      completionTokens: 4,
      costUsd: '0.000000014',
    };
    expect(await turnsOf(null, own, null)).toEqual([shared, shared]);
    expect(await turnsOf(null, null, own)).toEqual([shared, shared]);
    expect(await turnsOf(own, own, null)).toEqual([shared]);
    expect(await turnsOf(null, null, null)).toBeUndefined();
    expect(await turnsOf(own, own, own)).toBeUndefined();
  });

  it('reserves each turn before it begins, and ends where the next cannot be paid', async () => {
    const tool = new FakeTool('look', () => found('More.'));
    const again = { text: 'Again.', calls: [call('look')] };
    // Each turn reserves 20,000 and costs 14,000: after three, 8,000 are left.
    const fund = new FakeFund(50_000n);
    const { engine, loop, parts, kinds } = await play([again, again, again, again, again], { tools: [tool], fund });
    expect(engine.requests).toHaveLength(3);
    expect(fund.taken).toBe(3n * TURN_COST.totalCost);
    expect(loop.stoppedBy).toBe('insufficient_credits');
    expect(loop.end).toMatchObject({
      state: 'completed',
      error: null,
      finishReason: 'length',
      nativeFinishReason: 'insufficient_credits',
    });
    expect(kinds.at(-1)).toBe('finish');
    expect(parts.filter(({ type }) => type === 'server-tool')).toHaveLength(3);
  });

  it('counts functions that the model is not shown as part of the prompt', async () => {
    const deferred = { ...FUNCTION, description: 'word '.repeat(10_000), defer_loading: true };
    const search = new FakeTool('tool_search');
    const body = { tools: [{ type: 'sluice:tool_search' }, deferred] };
    const { engine } = await play([{ text: 'Hi.' }], { tools: [search], body, estimatedPromptTokens: 10_000 });
    expect(engine.requests[0]!.conversation.tools.map(({ name }) => name)).not.toContain('theirs');
    expect(engine.requests[0]!.estimatedPromptTokens).toBe(10_000);
  });

  it('is refused where not even its first turn can be paid', async () => {
    const { loop, engine } = begin([{ text: 'Hi.' }], { tools: [new FakeTool('look')], fund: new FakeFund(1_000n) });
    await expect(loop.open()).rejects.toMatchObject({ code: 'payment_required' });
    expect(engine.requests).toHaveLength(0);
  });

  it('does not run a tool that cannot be paid, and says so to the model', async () => {
    const tool = new FakeTool('look', () => found('Seen.', { costPicoUsd: 30_000n }), { mostPicoUsd: 30_000n });
    const fund = new FakeFund(65_000n);
    const { loop, engine } = await play([{ calls: [call('look', 'a'), call('look', 'b')] }, { text: 'Done.' }], {
      tools: [tool],
      fund,
    });
    expect(tool.uses).toHaveLength(1);
    expect(JSON.stringify(engine.requests.at(-1)!.conversation.messages)).toContain('not enough credit');
    expect(loop.end).toMatchObject({ finishReason: 'stop' });
    expect(fund.taken).toBe(2n * TURN_COST.totalCost + 30_000n);
  });

  it('bills every turn and every tool once', async () => {
    const tool = new FakeTool('web_search', () => found('Found.', { costPicoUsd: 5_000n }));
    const { loop } = await play([{ calls: [call('web_search'), call('web_search', 'two')] }, { text: 'Done.' }], {
      tools: [tool],
    });
    expect(loop.bill.bill).toMatchObject({
      usage: {
        promptTokens: 2 * TURN_USAGE.promptTokens,
        totalTokens: 2 * TURN_USAGE.totalTokens,
        provenance: 'upstream',
      },
      cost: { totalCost: 2n * TURN_COST.totalCost },
      tools: { requested: 2, executed: 2, webSearches: 2, cost: 10_000n },
    });
    expect(loop.bill.charge.cost.totalCost).toBe(2n * TURN_COST.totalCost + 10_000n);
  });

  it('hands functions of the caller over, with what its own tools of the same turn found', async () => {
    const tool = new FakeTool('look');
    const { engine, parts, loop } = await play([{ calls: [call('look'), call('theirs')] }], {
      tools: [tool],
      body: { tools: [{ type: 'sluice:look' }, FUNCTION] },
    });
    expect(engine.requests).toHaveLength(1);
    expect(parts).toMatchObject([
      { type: 'server-tool', hasSucceeded: true },
      { type: 'tool-call', name: 'theirs' },
    ]);
    expect(loop.end).toMatchObject({ state: 'completed', finishReason: 'tool_calls' });
  });

  it('runs what is pending when a condition is met, and then lets the model speak without tools', async () => {
    const tool = new FakeTool('look');
    const { engine, loop } = await play([{ calls: [call('look')] }, { calls: [call('look')] }, { text: 'Enough.' }], {
      tools: [tool],
      body: { max_tool_calls: 2 },
    });
    expect(tool.uses).toHaveLength(2);
    expect(engine.requests.map(({ conversation }) => conversation.toolChoice?.type)).toEqual([
      undefined,
      undefined,
      'none',
    ]);
    expect(loop).toMatchObject({ stoppedBy: 'max_tool_calls', steps: 2 });
  });

  it('takes no call of its tools from a turn that may not call any', async () => {
    const tool = new FakeTool('look');
    const { parts, loop } = await play([{ calls: [call('look')] }], { tools: [tool], body: { max_tool_calls: 1 } });
    expect(tool.uses).toHaveLength(1);
    expect(parts).toHaveLength(1);
    expect(loop.end).toMatchObject({ state: 'completed', finishReason: 'stop' });
  });

  it('forces a tool in the first turn only', async () => {
    const { engine } = await play([{ calls: [call('look')] }, { text: 'Done.' }], {
      tools: [new FakeTool('look')],
      body: { tool_choice: { type: 'sluice:look' } },
    });
    expect(engine.requests.map(({ conversation }) => conversation.toolChoice)).toEqual([
      { type: 'tool', name: 'look' },
      { type: 'auto' },
    ]);
  });

  it('does not run calls of an answer that was cut', async () => {
    const tool = new FakeTool('look');
    const { loop } = await play([{ calls: [call('look')], finishReason: 'length' }], { tools: [tool] });
    expect(tool.uses).toEqual([]);
    expect(loop.end).toMatchObject({ state: 'incomplete', finishReason: 'length' });
    expect(loop.bill.bill.tools).toMatchObject({ requested: 1, executed: 0 });
  });

  it('goes on after a tool that could not do it', async () => {
    const tool = new FakeTool('look', () => found('It is dark.', { isError: true }));
    const { engine, parts } = await play([{ calls: [call('look')] }, { text: 'Sorry.' }], { tools: [tool] });
    expect(parts[0]).toMatchObject({ type: 'server-tool', hasSucceeded: false });
    expect(engine.requests[1]!.conversation.messages.at(-1)).toMatchObject({ parts: [{ isError: true }] });
  });

  it.each([
    ['is not answered', new AppError('provider_overloaded', 'The provider is overloaded'), 1n],
    ['breaks', { text: 'Hm', breaksWith: new AppError('provider_unavailable', 'Cut') }, 2n],
  ])('fails with the bill so far when a later turn %s', async (_how, second, turnsBilled) => {
    const tool = new FakeTool('look', () => found('Found.', { costPicoUsd: 7n }));
    const { loop, kinds } = await play([{ calls: [call('look')] }, second], { tools: [tool] });
    expect(loop.end).toMatchObject({ state: 'failed', error: second instanceof AppError ? second : second.breaksWith });
    expect(kinds).not.toContain('finish');
    const paid = TURN_COST.totalCost + (turnsBilled - 1n) * 12_000n + 7n;
    expect(loop.bill.charge.cost.totalCost).toBe(paid);
  });

  it('ends with what a tool throws', async () => {
    const error = new AppError('server', 'Internal error');
    const tool = new FakeTool('look', () => {
      throw error;
    });
    const { loop } = await play([{ calls: [call('look')] }], { tools: [tool] });
    expect(loop.end).toMatchObject({ state: 'failed', error });
    expect(loop.bill.charge.cost.totalCost).toBe(TURN_COST.totalCost);
  });

  it('ends upstream and tools at once when nobody waits any more', async () => {
    const leaving = new AbortController();
    const tool = new FakeTool('look', () => {
      leaving.abort();
      return new Promise(() => undefined);
    });
    const { loop } = await play([{ calls: [call('look')] }], { tools: [tool], signal: leaving.signal });
    expect(loop.end).toMatchObject({ state: 'cancelled', error: null });
    expect(loop.bill.charge.cost.totalCost).toBe(TURN_COST.totalCost);
    expect(tool.uses[0]!.context.signal.aborted).toBe(true);
  });

  it('pays for every tool that was done when its caller left, told of it or not', async () => {
    const tool = new FakeTool('look', () => found('Found.', { costPicoUsd: 5_000n }));
    const { loop } = begin([{ calls: [call('look'), call('look', 'two')] }], { tools: [tool] });
    await loop.open();
    for await (const event of loop.events()) {
      if (event.type !== 'tool-outcome') continue;
      await new Promise(setImmediate);
      loop.cancel();
      break;
    }
    await loop.settled();
    expect(loop.bill.bill.tools).toMatchObject({ requested: 2, executed: 2, cost: 10_000n });
  });

  it('pays for a turn that was left in the middle', async () => {
    const { engine, loop } = begin([{ calls: [call('look')] }, { text: 'Hm', hangs: true }], {
      tools: [new FakeTool('look')],
    });
    await loop.open();
    for await (const event of loop.events()) if (event.type === 'text-delta') loop.cancel();
    await loop.settled();
    expect(engine.cancelled).toEqual([1]);
    expect(loop.end?.state).toBe('cancelled');
    expect(loop.bill.bill).toMatchObject({ usage: { provenance: 'partial' }, cost: { totalCost: 26_000n } });
  });

  it('keeps its turns on one conversation of routes and inside one deadline', async () => {
    const { engine } = await play([{ calls: [call('look')] }, { text: 'Done.' }], { tools: [new FakeTool('look')] });
    const [first, second] = engine.requests;
    expect(second!.stickyKey!()).toBe(first!.stickyKey!());
    expect(second!.deadlineMs).toBe(first!.deadlineMs);
    expect(second!.estimatedPromptTokens).toBeGreaterThan(first!.estimatedPromptTokens!);
  });

  it('gives every call of the conversation an id of its own', async () => {
    const { engine } = await play(
      [{ calls: [call('look', 'call_0')] }, { calls: [call('look', 'call_0')] }, { text: '.' }],
      {
        tools: [new FakeTool('look')],
      },
    );
    const parts = engine.requests[2]!.conversation.messages.flatMap((message) => message.parts);
    const ids = parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []));
    const results = parts.flatMap((part) => (part.type === 'tool-result' ? [part.callId] : []));
    expect(new Set(ids).size).toBe(2);
    expect(results).toEqual(ids);
  });

  it('shows the beginning of a long result, never half a character, where the caller has no items for tools', async () => {
    const tool = new FakeTool('look', () => found(`x${'😀'.repeat(10_000)}`));
    const { parts } = await play([{ calls: [call('look')] }, { text: 'There.' }], { tools: [tool], api: 'chat' });
    const { record } = parts[0] as Extract<AnswerPart, { type: 'server-tool' }>;
    expect(record!.result).toMatch(/^x😀+\uFFFD…$/u);
    expect(record!.result).toHaveLength(16 * 1024 + 1);
  });

  it('shows uses and pictures where the caller has no items for tools', async () => {
    const tool = new FakeTool('draw', () => found('Drawn.', { images: ['data:image/png;base64,AA=='] }));
    const { parts } = await play([{ calls: [call('draw')] }, { text: 'There.' }], { tools: [tool], api: 'chat' });
    expect(parts).toEqual([
      {
        type: 'server-tool',
        tool: 'draw',
        itemType: 'sluice:draw',
        hasSucceeded: false,
        item: {},
        record: { callId: 'call_draw', arguments: '{}', result: 'Drawn.' },
      },
      { type: 'generated-image', url: 'data:image/png;base64,AA==' },
      { type: 'text', text: 'There.' },
    ]);
  });

  it('lets the model call what a tool has found for it', async () => {
    const tool = new FakeTool('seek', () => found('Found.', { tools: [{ name: 'rare', parameters: null }] }));
    const { engine } = await play([{ calls: [call('seek')] }, { text: '.' }], { tools: [tool] });
    expect(engine.requests[1]!.conversation.tools.map(({ name }) => name)).toEqual(['seek', 'rare']);
  });

  describe('its memory', () => {
    const MEBIBYTE = 1024 * 1024;

    /** What is reserved, and what was reserved when each turn was asked for. */
    function counted(bytes = Number.POSITIVE_INFINITY) {
      let held = 0;
      const add = (more: number): undefined => {
        if (held + more > bytes) throw new AppError('provider_overloaded', 'The service is overloaded');
        held += more;
      };
      const memory = { holder: 'w', add, give: (less: number) => void (held -= less) };
      const atTurn: number[] = [];
      class Fund extends FakeFund {
        override async reserveTurn(): Promise<bigint> {
          atTurn.push(held);
          return super.reserveTurn();
        }
      }
      return { memory, atTurn, fund: new Fund() };
    }

    it('reserves what a turn adds before the next is written, in place of what its tools held', async () => {
      const { memory, atTurn, fund } = counted();
      const rare = { name: 'rare', description: 'r'.repeat(MEBIBYTE), parameters: null };
      const tool = new FakeTool('look', async ({ context }) => {
        await context.memory.add(9 * MEBIBYTE);
        return found('x'.repeat(MEBIBYTE), { tools: [rare] });
      });
      const turn = { calls: [call('look')] };
      await play([turn, turn, { text: 'Done.' }], { tools: [tool], memory, fund });
      expect(atTurn.map((bytes) => Math.round(bytes / MEBIBYTE))).toEqual([0, 8, 12]);
    });

    it('fails with the bill so far where there is none for the next turn', async () => {
      const { memory, fund } = counted(MEBIBYTE);
      const tool = new FakeTool('look', () => found('x'.repeat(MEBIBYTE)));
      const { loop, engine } = await play([{ calls: [call('look')] }], { tools: [tool], memory, fund });
      expect(engine.requests).toHaveLength(1);
      expect(loop.end).toMatchObject({ state: 'failed', error: { code: 'provider_overloaded' } });
      expect(loop.bill.charge.cost.totalCost).toBe(TURN_COST.totalCost);
    });

    it.each([
      [true, 0],
      [false, 10],
    ])('holds the pictures of a whole answer to its end, streamed: %s', async (isStream, mebibytes) => {
      const { memory, atTurn, fund } = counted();
      const tool = new FakeTool('draw', async ({ context }) => {
        await context.memory.add(10 * MEBIBYTE);
        return found('Drawn.', { images: ['x'.repeat(2 * MEBIBYTE)] });
      });
      await play([{ calls: [call('draw')] }, { text: '.' }], { tools: [tool], memory, fund, isStream });
      expect(Math.round(atTurn[1]! / MEBIBYTE)).toBe(mebibytes);
    });
  });

  it('leaves out results that are too long together, and ends the use of tools when those of a request are', async () => {
    const tool = new FakeTool('look', () => found('x'.repeat(1_200_000), { costPicoUsd: 1n }));
    const twelve = { calls: Array.from({ length: 12 }, (_, index) => call('look', `call_${index}`)) };
    const { engine, loop } = await play([twelve, twelve, { text: 'Enough.' }], { tools: [tool] });
    expect(engine.requests).toHaveLength(3);
    const sent = engine.requests.map(({ body }) => body.length);
    expect(Math.max(...sent)).toBeLessThan(8.5 * 1024 * 1024);
    expect(JSON.stringify(engine.requests[1]!.conversation.messages)).toContain('Ask for less at once');
    expect(engine.requests.at(-1)!.conversation.toolChoice).toEqual({ type: 'none' });
    expect(JSON.stringify(engine.requests.at(-1)!.conversation.messages)).toContain('Answer with what is there');
    expect(loop.stoppedBy).toBe('tool_results_too_long');
    expect(loop.bill.bill.tools).toMatchObject({ executed: tool.uses.length, cost: BigInt(tool.uses.length) });
    expect(tool.uses.length).toBeLessThan(24);
  });

  it('throws when the first turn gets no answer, for there is nothing to pay', async () => {
    const error = new AppError('provider_overloaded', 'The provider is overloaded');
    const { loop } = begin([error], { tools: [new FakeTool('look')] });
    await expect(loop.open()).rejects.toBe(error);
  });
});
