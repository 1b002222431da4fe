import type { Fields } from '../server-tools/named-tools';
import { SettingsReader } from '../server-tools/web-settings';
import { middleOut } from './middle-out';
import type { BoundPlugin, Plugin, PluginContext, Preparation } from './plugin';
import { PromptMeter } from './prompt-meter';
import type { RequestBody } from './request-body';

/** Tokens kept free for the answer if the request does not limit its length. */
const ANSWER_TOKENS = 4_096;

const STAGE = { type: 'context_compression', name: 'context-compression' } as const;

/** Shortens the middle of a conversation until it fits the context of the request's model. */
export class ContextCompressionPlugin implements Plugin {
  readonly id = 'context-compression';

  bind(settings: Fields, path: string): BoundPlugin {
    new SettingsReader(settings, path).oneOf('engine', ['middle-out']);
    return { stage: STAGE, prepare: compress };
  }
}

async function compress(body: RequestBody, context: PluginContext): Promise<Preparation | null> {
  const budget = budgetOf(context);
  if (budget <= 0) return null;
  const meter = new PromptMeter(context);
  const start = await meter.measured(body);
  if (start.tokens <= budget) return null;
  const compressed = await middleOut(start, budget, meter);
  meter.keep(compressed.bytes.length);
  const [before, after] = [body.turns.length, compressed.turns.length];
  return {
    body: compressed,
    stage: {
      ...STAGE,
      summary: `engine=middle-out, messages=${before} to ${after}`,
      data: { engine: 'middle-out', input_type: 'messages', original_count: before, compressed_count: after },
    },
  };
}

/** Returns the tokens that the prompt may have at the model's largest endpoint; unlimited if that is unknown. */
function budgetOf({ model, maxTokens }: PluginContext): number {
  if (model === null) return Number.POSITIVE_INFINITY;
  const contexts = model.endpoints.map(({ contextLength }) => contextLength ?? model.contextLength ?? Infinity);
  const context = Math.max(...contexts);
  return context - (maxTokens ?? Math.min(ANSWER_TOKENS, Math.floor(context / 4)));
}
