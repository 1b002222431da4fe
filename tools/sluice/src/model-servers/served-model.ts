import type { Api } from '@libs/inference';
import type { JsonObject } from '@libs/json';
import type { ServerClient } from './server-client';

/** What a server reports about one of its models. */
export interface ServedModel {
  /** The server's name for the model. */
  readonly id: string;
  readonly apis: readonly Api[];
  readonly contextLength?: number | undefined;
  readonly created?: number | undefined;
  readonly quantization?: string | undefined;
  readonly inputModalities?: readonly string[] | undefined;
  readonly supportedParameters?: readonly string[] | undefined;
  /** Information for the operator, one line each. */
  readonly remarks: readonly string[];
}

export interface ServedModels {
  readonly models: readonly ServedModel[];
  /** How many concurrent calls the server accepts; absent if it does not say. */
  readonly maxConcurrency?: number | undefined;
}

/** One kind of model server. */
export interface ServerKind {
  /** Default slug of the provider. */
  readonly slug: string;
  readonly name: string;
  /** Whether the server is of this kind, by its list of models or its own routes. */
  recognizes(listed: readonly JsonObject[], client: ServerClient): Promise<boolean>;
  /** @throws AppError */
  describe(listed: readonly JsonObject[], client: ServerClient): Promise<ServedModels>;
}

/** A server with more models is treated as something else. */
export const MOST_MODELS = 500;

/** Settings that all of these servers accept. */
export const COMMON_PARAMETERS: readonly string[] = [
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'response_format',
  'structured_outputs',
];

/** Reads a number of tokens or calls; any other value counts as absent. */
export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

/** Returns the routes that a server has, by its answer to a request that is incomplete for all of them. */
export async function hasRoute(client: ServerClient, path: string): Promise<boolean> {
  const { status } = await client.post(path, {});
  return ![404, 405, 501].includes(status);
}

/** Returns the catalogue's word for a precision such as `Q4_K_M`, `F16` or `fp8`; absent if the catalogue has none. */
export function quantizationOf(level: unknown): string | undefined {
  if (typeof level !== 'string') return undefined;
  const plain = /^(?:bf16|fp4|fp6|fp8|fp16|fp32|int4|int8)$/i.exec(level)?.[0].toLowerCase();
  if (plain !== undefined) return plain;
  const bits = /^I?Q([48])_/i.exec(level)?.[1];
  if (bits !== undefined) return `int${bits}`;
  const float = /^F(16|32)$/i.exec(level)?.[1];
  return float === undefined ? undefined : `fp${float}`;
}

/** Returns the most likely API of a model, by its name, if the server does not say. */
export function apiByName(id: string): Api {
  if (/whisper/i.test(id)) return 'transcription';
  return /embed|(?:^|\W)(?:bge|e5|gte)-/i.test(id) ? 'embeddings' : 'chat';
}
