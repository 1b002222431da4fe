import { metCondition, readStopConditions, type LoopProgress } from './stop-conditions';

const progress = (values: Partial<LoopProgress> = {}): LoopProgress => ({
  steps: 1,
  called: new Set(),
  totalTokens: 0,
  cost: 0n,
  finishReason: 'tool_calls',
  nativeFinishReason: 'tool_use',
  ...values,
});

const met = (body: object, values: Partial<LoopProgress>) =>
  metCondition(readStopConditions({ ...body }), progress(values))?.name ?? null;
const when = (...conditions: object[]) => ({ stop_server_tools_when: conditions });

describe(readStopConditions.name, () => {
  it.each([
    ['30 steps by itself', {}, { steps: 29 }, { steps: 30 }],
    ['the steps of max_tool_calls', { max_tool_calls: 2 }, { steps: 1 }, { steps: 2 }],
    ['step_count_is', when({ type: 'step_count_is', step_count: 3 }), { steps: 2 }, { steps: 3 }],
    [
      'has_tool_call',
      when({ type: 'has_tool_call', tool_name: 'sluice:look' }),
      { called: new Set(['look']) },
      { called: new Set(['look', 'sluice:look']) },
    ],
    ['max_tokens_used', when({ type: 'max_tokens_used', max_tokens: 50 }), { totalTokens: 49 }, { totalTokens: 50 }],
    [
      'max_cost',
      when({ type: 'max_cost', max_cost_in_dollars: 0.1 }),
      { cost: 99_999_999_999n },
      { cost: 100_000_000_000n },
    ],
    [
      'finish_reason_is, in our word',
      when({ type: 'finish_reason_is', reason: 'tool_calls' }),
      { finishReason: 'stop' },
      {},
    ],
    [
      'finish_reason_is, in the word of the upstream',
      when({ type: 'finish_reason_is', reason: 'tool_use' }),
      { nativeFinishReason: 'end' },
      {},
    ],
  ] satisfies [string, object, Partial<LoopProgress>, Partial<LoopProgress>][])(
    'ends with %s',
    (_name, body, before, after) => {
      expect(met(body, before)).toBeNull();
      expect(met(body, after)).not.toBeNull();
    },
  );

  it('ends with any of several, which take the place of max_tool_calls', () => {
    const body = {
      max_tool_calls: 1,
      ...when({ type: 'step_count_is', step_count: 9 }, { type: 'max_tokens_used', max_tokens: 5 }),
    };
    expect(met(body, { steps: 8 })).toBeNull();
    expect(met(body, { steps: 1, totalTokens: 5 })).toBe('max_tokens_used');
  });

  it('ends some time even where its conditions are never met', () => {
    const body = when({ type: 'max_cost', max_cost_in_dollars: 1_000_000_000 });
    expect(met(body, { steps: 99 })).toBeNull();
    expect(met(body, { steps: 100 })).toBe('step_limit');
  });
});
