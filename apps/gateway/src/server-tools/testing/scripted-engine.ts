import { AppError } from '@libs/errors';
import {
  emptyUsage,
  parseCatalogue,
  type AnswerEvent,
  type CancelSignal,
  type Candidate,
  type FinishReason,
  type StreamOutcome,
  type Turn,
  type TurnRequest,
  type TurnResult,
} from '@libs/inference';
import type { TurnEngine } from '../tool-loop';

/** What a model says in one turn of a test. */
export interface ScriptedTurn {
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments?: string }[];
  readonly finishReason?: FinishReason;
  /** Ends the turn in the middle. */
  readonly breaksWith?: AppError;
  /** Says nothing more until it is cancelled. */
  readonly hangs?: boolean;
  /** The key that the turn runs on, if it is the caller's own. */
  readonly credential?: Candidate['credential'];
}

/** What every turn costs, unless it hangs or breaks: then half of it. */
export const TURN_USAGE = { ...emptyUsage('upstream'), promptTokens: 10, completionTokens: 4, totalTokens: 14 };
export const TURN_COST = { totalCost: 14_000n, promptCost: 10_000n, completionCost: 4_000n };
const PART_OF_IT = {
  usage: { ...TURN_USAGE, completionTokens: 2, totalTokens: 12, provenance: 'partial' as const },
  cost: { totalCost: 12_000n, promptCost: 10_000n, completionCost: 2_000n },
};

const CATALOGUE = parseCatalogue([
  {
    name: 'scripted.yaml',
    text: `
providers:
  - { slug: scripted, name: Scripted, base_url: "http://127.0.0.1:9/v1", protocol: openai, api_key_env: KEY, headers: {},
      regions: [global], data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: false },
      batch: none, max_concurrency: 1 }
models:
  - slug: test/scripted
    name: Scripted
    description: ""
    created: 1
    context_length: 1000
    architecture: { input_modalities: [text], output_modalities: [text], tokenizer: Other, instruct_type: null }
    supported_parameters: []
    endpoints:
      - { provider: scripted, upstream_model: scripted, apis: [chat], pricing: { prompt: "0.000001", completion: "0.000002" },
          context_length: 1000, max_completion_tokens: 500, quantization: unknown, region: global, zdr: false,
          capabilities: {} }
`,
  },
]);
const MODEL = CATALOGUE.models()[0]!;
/** Where every turn is answered. */
export const SERVED: Candidate = { model: MODEL, endpoint: MODEL.endpoints[0]! };

/** Answers each turn with the next of its script, or fails to. */
export class ScriptedEngine implements TurnEngine {
  readonly requests: TurnRequest[] = [];
  readonly cancelled: number[] = [];

  constructor(private readonly script: readonly (ScriptedTurn | AppError)[]) {}

  deadlineMs(): number {
    return Date.now() + 600_000;
  }

  async converse(_api: string, request: TurnRequest): Promise<TurnResult> {
    const index = this.requests.push(request) - 1;
    const step = this.script[index] ?? this.script.at(-1)!;
    if (step instanceof AppError) throw step;
    const attempt = { model: MODEL.slug, providerName: 'Scripted', providerSlug: 'scripted', status: 200 };
    return {
      ...SERVED,
      credential: step.credential ?? null,
      status: 200,
      attempts: [{ ...attempt, errorCode: null, end: 'ok', tookMs: 1, isByok: false }],
      losses: { dropped: [], approximated: [] },
      turn: new PlayedTurn(step, request.signal, () => this.cancelled.push(index)),
    };
  }
}

class PlayedTurn implements Turn {
  readonly outcome: Promise<StreamOutcome>;
  private settle!: (outcome: StreamOutcome) => void;
  private isOver = false;
  private readonly left = Promise.withResolvers<void>();

  constructor(
    private readonly step: ScriptedTurn,
    signal: CancelSignal,
    private readonly onCancel: () => void,
  ) {
    this.outcome = new Promise((resolve) => (this.settle = resolve));
    signal.addEventListener('abort', () => this.cancel(), { once: true });
  }

  cancel(): void {
    if (this.isOver) return;
    this.onCancel();
    this.end('cancelled');
    this.left.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerEvent[]> {
    for (const event of eventsOf(this.step)) yield [event];
    if (this.step.hangs) await this.left.promise;
    if (this.step.breaksWith) return this.end('failed', this.step.breaksWith);
    const finishReason = this.step.finishReason ?? (this.step.calls ? 'tool_calls' : 'stop');
    this.end(finishReason === 'length' ? 'incomplete' : 'completed', null, finishReason);
  }

  private end(state: StreamOutcome['state'], error: AppError | null = null, finishReason: FinishReason | null = null) {
    if (this.isOver) return;
    this.isOver = true;
    const bill = finishReason === null ? PART_OF_IT : { usage: TURN_USAGE, cost: TURN_COST };
    this.settle({ state, ...bill, finishReason, nativeFinishReason: finishReason, upstreamId: 'up', error });
  }
}

function eventsOf({ text, calls = [] }: ScriptedTurn): AnswerEvent[] {
  const events: AnswerEvent[] = [{ type: 'start', upstreamId: 'up', createdAt: 1 }];
  let part = 0;
  if (text !== undefined) {
    events.push(
      { type: 'part-start', part, kind: 'text' },
      { type: 'text-delta', part, text },
      { type: 'part-end', part },
    );
    part += 1;
  }
  for (const { id, name, arguments: args = '{}' } of calls) {
    events.push(
      { type: 'part-start', part, kind: 'tool-call', id, name },
      { type: 'tool-arguments-delta', part, arguments: args },
      { type: 'part-end', part },
    );
    part += 1;
  }
  return events;
}
