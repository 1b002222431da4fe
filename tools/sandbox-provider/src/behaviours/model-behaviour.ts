import { SandboxError } from '../http/sandbox-error';
import type { Fault } from '../http/reply';

export type Failure = Fault | { readonly kind: 'status'; readonly status: number };

/** What a model name asks of the provider besides an answer. */
export interface Behaviour {
  readonly failure: Failure | null;
  /** The failure happens only for the first so many calls with the same body. */
  readonly failTimes: number | null;
  /** The failure strikes this share of calls, drawn from body and attempt, so that a run repeats itself. */
  readonly failRate: number | null;
  readonly retryAfterSeconds: number | null;
  readonly latencyMs: number | null;
  readonly chunkMs: number;
  readonly words: number;
  readonly cachedTokens: number;
  readonly omitsUsage: boolean;
  readonly videoMs: number | null;
  readonly videoEnd: 'completed' | 'failed';
  readonly batchMs: number | null;
  readonly batchEnd: 'completed' | 'expired' | 'failed';
}

export interface NamedModel {
  /** The model name without its behaviour suffix. */
  readonly name: string;
  readonly behaviour: Behaviour;
}

const PLAIN: Behaviour = Object.freeze({
  failure: null,
  failTimes: null,
  failRate: null,
  retryAfterSeconds: null,
  latencyMs: null,
  chunkMs: 0,
  words: 0,
  cachedTokens: 0,
  omitsUsage: false,
  videoMs: null,
  videoEnd: 'completed',
  batchMs: null,
  batchEnd: 'completed',
});

const DAY_MS = 86_400_000;

type Settings = Map<string, string>;

/**
 * Reads `name?setting=value&setting=value`.
 * A setting that is unknown, repeated or out of range answers 400: a misspelt fault must not pass as success.
 */
export function parseModelName(model: unknown): NamedModel {
  if (typeof model !== 'string' || model === '') {
    throw new SandboxError(400, "Missing required parameter: 'model'", 'model');
  }
  const mark = model.indexOf('?');
  if (mark < 0) return { name: model, behaviour: PLAIN };
  const settings = readSettings(model.slice(mark + 1));
  const behaviour = readBehaviour(settings);
  const [unknown] = settings.keys();
  if (unknown !== undefined) throw refusal('is not known');
  if (mark === 0) throw new SandboxError(400, "'model' has no name before its settings", 'model');
  return { name: model.slice(0, mark), behaviour };
}

function readSettings(text: string): Settings {
  const settings: Settings = new Map();
  for (const [name, value] of new URLSearchParams(text)) {
    if (settings.has(name)) throw refusal('is repeated');
    settings.set(name, value);
  }
  return settings;
}

function refusal(reason: string): SandboxError {
  return new SandboxError(400, `A behaviour setting of 'model' ${reason}`, 'model', 'invalid_behaviour');
}

function readBehaviour(settings: Settings): Behaviour {
  const failTimes = takeNumber(settings, 'fail_times', 0, 1_000_000);
  const failRate = takeNumber(settings, 'fail_rate', 0, 1, false);
  const isGated = failTimes !== null || failRate !== null;
  const failure = takeFailure(settings);
  return {
    failure: failure ?? (isGated ? { kind: 'status', status: 500 } : null),
    failTimes,
    failRate,
    retryAfterSeconds: takeNumber(settings, 'retry_after', 0, 86_400),
    latencyMs: takeNumber(settings, 'latency_ms', 0, 600_000),
    chunkMs: takeNumber(settings, 'chunk_ms', 0, 60_000) ?? 0,
    words: takeNumber(settings, 'words', 0, 100_000) ?? 0,
    cachedTokens: takeNumber(settings, 'cached_tokens', 0, 10_000_000) ?? 0,
    omitsUsage: takeFlag(settings, 'no_usage'),
    videoMs: takeNumber(settings, 'video_ms', 0, DAY_MS),
    videoEnd: takeChoice(settings, 'video_end', ['completed', 'failed'] as const),
    batchMs: takeNumber(settings, 'batch_ms', 0, DAY_MS),
    batchEnd: takeChoice(settings, 'batch_end', ['completed', 'expired', 'failed'] as const),
  };
}

function takeFailure(settings: Settings): Failure | null {
  const found: Failure[] = [];
  const status = takeNumber(settings, 'status', 400, 599);
  if (status !== null) found.push({ kind: 'status', status });
  for (const kind of ['reset', 'hang', 'malformed'] as const) {
    if (takeFlag(settings, kind)) found.push({ kind });
  }
  for (const kind of ['cut', 'stall', 'error'] as const) {
    const after = takeNumber(settings, `${kind}_after`, 0, 1_000_000);
    if (after !== null) found.push({ kind, after });
  }
  if (found.length > 1) throw refusal('names a second failure');
  return found[0] ?? null;
}

function take(settings: Settings, name: string): string | undefined {
  const value = settings.get(name);
  settings.delete(name);
  return value;
}

function takeNumber(settings: Settings, name: string, minimum: number, maximum: number, whole = true): number | null {
  const text = take(settings, name);
  if (text === undefined) return null;
  const value = Number(text);
  const isValid = /^\d+(\.\d+)?$/.test(text) && value >= minimum && value <= maximum;
  if (!isValid || (whole && !Number.isInteger(value))) {
    throw refusal(`is out of range: '${name}' goes from ${minimum} to ${maximum}`);
  }
  return value;
}

function takeFlag(settings: Settings, name: string): boolean {
  const text = take(settings, name);
  if (text === undefined || text === '0') return false;
  if (text !== '1') throw refusal(`is out of range: '${name}' is 0 or 1`);
  return true;
}

function takeChoice<T extends string>(settings: Settings, name: string, choices: readonly [T, ...T[]]): T {
  const text = take(settings, name);
  if (text === undefined) return choices[0];
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) throw refusal(`is out of range: '${name}' is one of ${choices.join(', ')}`);
  return choice;
}
